// What `reclaim` and `lend` do on the PC, whoever asks for it.
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "worker/core/agent.h"

namespace hpc::worker {

void Agent::OnSetOwner(Now now, const protocol::SetOwner& owner, Effects* effects) {
  if (yield_.state().unsent) {
    // If the wishes differ, this was said before the coordinator heard of the change here. Its
    // answer to that is still to come.
    if (owner.reclaimed != yield_.reclaimed()) return;
    yield_.MarkSent();
    effects->push_back(SaveOwner{yield_.state()});
    return;
  }
  if (owner.reclaimed) {
    YieldRequest request;
    request.trigger = YieldTrigger::kCoordinator;
    request.duration = owner.left;
    request.reason = owner.reason;
    if (owner.grace) request.grace = *owner.grace;
    // What is stopped for its owner already keeps the grace that it was given then, which a
    // coordinator that was away does not know. A shorter one comes with orders to stop.
    const bool already = yield_.reclaimed();
    TakeBack(now, request, effects);
    already ? StopAllIfReclaimed(now, effects) : StopAll(now, request.grace, effects);
    CheckPcFree(now, effects);
  } else if (yield_.reclaimed()) {
    yield_.Lend(now, YieldTrigger::kCoordinator);
    effects->push_back(SaveOwner{yield_.state()});
    effects->push_back(Note{false, "the PC is lent to the cluster again, by the coordinator"});
  }
}

void Agent::Reclaim(Now now, const YieldRequest& request, Effects* effects) {
  TakeBack(now, request, effects);
  StopAll(now, request.grace, effects);
  CheckPcFree(now, effects);
  DropUnsayable(effects);
}

void Agent::TakeBack(Now now, const YieldRequest& request, Effects* effects) {
  yield_.Reclaim(now, request);
  effects->push_back(SaveOwner{yield_.state()});
  if (yield_.state().unsent) SayOwner(now, request.grace, effects);
  effects->push_back(Note{false, absl::StrCat("the PC is its owner's",
                                              request.reason.empty() ? "" : ": ", request.reason)});
}

void Agent::Lend(Now now, Effects* effects) {
  yield_.Lend(now, YieldTrigger::kCommand);
  effects->push_back(SaveOwner{yield_.state()});
  SayOwner(now, absl::ZeroDuration(), effects);
  effects->push_back(Note{false, "the PC is lent to the cluster, by its owner"});
  DropUnsayable(effects);
}

// A SetOwner answers this. If none comes, the next hello asks again.
void Agent::SayOwner(Now now, absl::Duration grace, Effects* effects) {
  const OwnerState& state = yield_.state();
  effects->push_back(
      Say{protocol::OwnerChanged{state.reclaimed, yield_.Left(now), state.reason, grace}});
}

// An attempt that is being stopped already gets no more time than the owner gives.
void Agent::StopAll(Now now, absl::Duration grace, Effects* effects) {
  const std::string reason = TakenBack();
  for (auto& [ref, attempt] : attempts_) {
    if (attempt.stopping()) {
      attempt.OnStop(now.mono, {ref, grace, reason}, effects);
    } else {
      attempt.StopForOurselves(now.mono, grace, {protocol::HaltKind::kOwner, reason}, effects);
    }
  }
}

void Agent::CheckPcFree(Now now, Effects* effects) {
  if (live_attempts() > 0) return;
  if (const auto took = yield_.OnPcFree(now)) {
    effects->push_back(Note{false, "the PC was free after " + HumanDuration(*took)});
  }
}

void Agent::TickYield(Now now, Effects* effects) {
  switch (yield_.Tick(now)) {
    case Yield::Due::kNothing:
      break;
    case Yield::Due::kTimeUp:
      effects->push_back(SaveOwner{yield_.state()});
      effects->push_back(Note{false, "the owner's time is up: the PC is lent again"});
      // If the wish was not answered, the coordinator may not know its time limit.
      if (yield_.state().unsent) SayOwner(now, absl::ZeroDuration(), effects);
      break;
    case Yield::Due::kOverdue:
      effects->push_back(Note{true, "the PC is not free yet: what runs there has not ended"});
      break;
  }
}

void Agent::StopAllIfReclaimed(Now now, Effects* effects) {
  if (!yield_.reclaimed()) return;
  for (auto& [ref, attempt] : attempts_) {
    StopForOurselves(now, &attempt, {protocol::HaltKind::kOwner, TakenBack()}, effects);
  }
}

}  // namespace hpc::worker
