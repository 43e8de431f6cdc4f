#include "coordinator/core/gangs/gang_starter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/text.h"
#include "coordinator/core/gangs/checkpoint_folders.h"
#include "coordinator/core/gangs/rendezvous.h"
#include "coordinator/core/state/holdings.h"
#include "coordinator/core/values/exit_codes.h"

namespace hpc::coordinator {
namespace {

// Whether neither another node nor a later time can help against this error of a preparation.
bool IsRefusal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
      return true;
    default:
      return false;
  }
}

int32_t RefusalCode(const absl::Status& status) {
  if (absl::IsNotFound(status)) return kExitNotFound;
  if (absl::IsPermissionDenied(status)) return kExitNotExecutable;
  return kExitNotRun;
}

// The store is the workers', unless the torch of a node cannot be its client and the run leaves the
// choice to us. A single rank has nobody to meet but the processes that it makes itself: a script
// that calls mp.spawn lets one of them serve a store.
protocol::StoreHost DecideStoreHost(const Attempt& attempt, const RunRequest& request) {
  // A launcher that runs as the command serves a store of its own.
  if (request.mode == protocol::LaunchMode::kPerNode) return protocol::StoreHost::kRank0;
  const protocol::StoreHost asked = request.store_host;
  if (asked != protocol::StoreHost::kAuto) return asked;
  if (attempt.record.world_size == 1) return protocol::StoreHost::kRank0;
  const bool all_can = std::all_of(attempt.members.begin(), attempt.members.end(),
                                   [](const Member& m) { return m.store_client_ok; });
  return all_can ? protocol::StoreHost::kWorker : protocol::StoreHost::kRank0;
}

std::vector<protocol::Peer> PeersOf(const Attempt& attempt) {
  std::vector<protocol::Peer> peers;
  peers.reserve(attempt.members.size());
  for (const Member& m : attempt.members) {
    const PlacementRecord& p = m.placement;
    peers.push_back({p.node, p.address, p.first_rank, p.ranks});
  }
  return peers;
}

std::unique_ptr<Attempt> MakeAttempt(const Turn& turn, AttemptRef ref,
                                     const std::vector<Seat>& seats) {
  auto attempt = std::make_unique<Attempt>();
  attempt->record.ref = ref;
  attempt->record.created_at = turn.wall();
  attempt->began = turn.mono();
  attempt->running_since = turn.mono();
  int32_t next_rank = 0;
  for (const Seat& seat : seats) {
    Member member;
    member.placement.ref = ref;
    member.placement.node = seat.node->name();
    member.placement.node_rank = static_cast<int32_t>(attempt->members.size());
    member.placement.address = seat.node->record.address;
    member.placement.devices = seat.devices;
    member.placement.first_rank = next_rank;
    member.placement.ranks = seat.ranks;
    next_rank += seat.ranks;
    attempt->members.push_back(std::move(member));
  }
  attempt->record.world_size = next_rank;
  attempt->ranks = MakeRanks(attempt->members);
  return attempt;
}

// A run that has run goes on without some of its nodes. The folder for its checkpoints is one of
// each node, unless the user has named another.
std::string LeftBehind(const Run& run, const std::vector<Seat>& seats) {
  std::vector<std::string> left = run.last_nodes;
  for (const Seat& seat : seats) {
    left.erase(std::remove(left.begin(), left.end(), seat.node->name()), left.end());
  }
  if (left.empty() || run.record.started_at == absl::InfinitePast()) return "";
  return absl::StrCat("; what it has saved in $HPC_CHECKPOINT_DIR on ", JoinWords(left),
                      ", if anything, stays there");
}

void SayWhatCheckpointsLack(Turn& turn, const Attempt& attempt) {
  std::vector<CheckpointFolder> folders;
  for (const Member& m : attempt.members) folders.push_back({m.placement.node, m.checkpoints});
  const std::string words = DifferenceInWords(folders);
  if (words.empty()) return;
  turn.Event(event::kRunCheckpoints, About(attempt.ref()), words, Severity::kWarning);
}

}  // namespace

void GangStarter::Begin(Turn& turn, Run* run, const std::vector<Seat>& seats,
                        const std::string& chosen) {
  const std::string reason = chosen + LeftBehind(*run, seats);
  run->record.attempts = std::max(run->record.attempts, run->taken_attempt) + 1;
  const AttemptRef ref{run->id(), run->record.attempts};
  run->attempt = MakeAttempt(turn, ref, seats);
  Attempt& attempt = *run->attempt;
  attempt.record.placement_reason = reason;
  bool all_on = true;
  for (const Seat& seat : seats) {
    seat.node->holdings.push_back({ref, seat.devices});
    if (!seat.node->ReadyForWork()) all_on = false;
  }
  attempt.record.state = all_on ? AttemptState::kPreparing : AttemptState::kWaking;
  run->record.leave_asleep.clear();
  run->last_call.reset();
  state_->timers.Stop(Alarm::kLastCall, run->id());
  state_->runs.SetState(run, RunState::kStarting);
  run->record.reason = all_on ? "its nodes prepare it" : "its nodes are being woken";
  turn.Save(run->record);
  turn.Save(attempt.record);
  for (const Member& m : attempt.members) turn.Save(m.placement);
  turn.Event(event::kRunPlaced, About(ref), reason);
  if (all_on) SendPrepare(turn, run);
}

void GangStarter::NodeReady(Turn& turn, const Node& node) {
  for (Run* run : RunsOn(state_, node)) {
    Attempt& attempt = *run->attempt;
    if (attempt.record.state != AttemptState::kWaking) continue;
    bool all_on = true;
    for (Member& m : attempt.members) {
      const Node* member_node = state_->nodes.Find(m.placement.node);
      if (!member_node->ReadyForWork()) all_on = false;
      // The node may have got another address while it slept.
      if (m.placement.address != member_node->record.address) {
        m.placement.address = member_node->record.address;
        turn.Save(m.placement);
      }
    }
    if (!all_on) continue;
    SetState(&attempt, AttemptState::kPreparing);
    turn.Save(attempt.record);
    SendPrepare(turn, run);
  }
}

void GangStarter::SendPrepare(Turn& turn, Run* run) {
  Attempt& attempt = *run->attempt;
  const RunRequest& request = run->request();
  for (Member& m : attempt.members) {
    protocol::Prepare prepare;
    prepare.ref = attempt.ref();
    prepare.node_rank = m.placement.node_rank;
    prepare.devices = m.placement.devices;
    prepare.first_rank = m.placement.first_rank;
    prepare.ranks = m.placement.ranks;
    prepare.world_size = attempt.record.world_size;
    prepare.peers = PeersOf(attempt);
    prepare.mode = request.mode;
    prepare.store_host = request.store_host;
    prepare.restart_count = attempt.ref().number - 1;
    prepare.max_restarts = request.max_restarts;
    prepare.stop_grace = request.stop_grace;
    prepare.run_name = request.name;
    prepare.experiment = request.experiment;
    prepare.user = request.user;
    m.Reach(MemberStage::kToldToPrepare);
    turn.Tell(m.placement.node, std::move(prepare));
  }
  state_->timers.Set(Alarm::kPhase, run->id(), turn.mono() + state_->options.prepare_timeout);
}

void GangStarter::Prepared(Turn& turn, Run* run, Member* member, const protocol::Prepared& report) {
  Attempt& attempt = *run->attempt;
  if (!report.status.ok()) {
    const std::string& node = member->placement.node;
    const absl::string_view why =
        absl::StripPrefix(report.status.message(), absl::StrCat(node, ": "));
    const std::string what = absl::StrCat(node, " cannot run it: ", why);
    turn.Event(event::kAttemptRefused, About(attempt.ref(), member->placement.node), what,
               Severity::kError);
    StopOrder order{AttemptOutcome::kStartFailed, what, run->request().stop_grace};
    // A run that has run elsewhere goes on without a PC that cannot run it.
    const bool has_run = run->record.started_at != absl::InfinitePast();
    if (IsRefusal(report.status) && has_run) run->record.refused_by.push_back(node);
    if (IsRefusal(report.status) && !has_run) {
      order.outcome = AttemptOutcome::kRefused;
      order.exit_code = RefusalCode(report.status);
    } else {
      state_->nodes.Find(node)->MakeUnable(
          turn.mono(), absl::StrCat("could not prepare run ", run->id(), ": ", why));
    }
    // A node that refuses has taken no devices.
    GiveBack(turn, state_, run, member);
    gangs_->Stop(turn, run, order);
    return;
  }
  if (attempt.record.state != AttemptState::kPreparing || member->Reached(MemberStage::kPrepared))
    return;
  member->Reach(MemberStage::kPrepared);
  state_->nodes.Find(member->placement.node)->unable_until = {};
  member->store_addr = report.store_addr;
  member->store_port = report.store_port;
  member->store_client_ok = report.store_client_ok;
  member->recall = report.recall;
  member->checkpoints = report.checkpoints;
  if (attempt.AllPrepared()) SendStart(turn, run);
}

// Only where a worker serves the store can nodes vouch for one another: that is where they do it.
bool GangStarter::CanBeWitnessed(const Run& run) const {
  const Attempt& attempt = *run.attempt;
  return attempt.members.size() > 1 && attempt.record.store_host == protocol::StoreHost::kWorker &&
         std::all_of(attempt.members.begin(), attempt.members.end(), [this](const Member& m) {
           return state_->nodes.Find(m.placement.node)->can_vouch;
         });
}

void GangStarter::SendStart(Turn& turn, Run* run) {
  Attempt& attempt = *run->attempt;
  const Member& first = attempt.members.front();
  if (first.store_port == 0) {
    const std::string why =
        absl::StrCat(first.placement.node, " has not said on which port the rendezvous store is");
    return gangs_->Stop(turn, run, {AttemptOutcome::kStartFailed, why, run->request().stop_grace});
  }
  attempt.record.store_host = DecideStoreHost(attempt, run->request());
  attempt.record.master_addr =
      attempt.record.store_host == protocol::StoreHost::kWorker && !first.store_addr.empty()
          ? first.store_addr
          : first.placement.address;
  attempt.record.master_port = first.store_port;
  attempt.witnessed = CanBeWitnessed(*run);
  SetState(&attempt, AttemptState::kStarting);
  turn.Save(attempt.record);
  turn.Event(
      event::kRunPrepared, About(attempt.ref()),
      absl::StrCat(JoinWords(attempt.NodeNames()), attempt.members.size() == 1 ? " is" : " are",
                   " prepared after ", HumanDuration(turn.mono() - attempt.began),
                   "; rendezvous at ", attempt.record.master_addr, ":", attempt.record.master_port,
                   attempt.record.store_host == protocol::StoreHost::kWorker ? " (the worker)"
                                                                             : " (rank 0)"));
  SayWhatCheckpointsLack(turn, attempt);
  for (Member& m : attempt.members) {
    m.Reach(MemberStage::kToldToStart);
    turn.Tell(m.placement.node,
              protocol::Start{attempt.ref(), attempt.record.master_addr, attempt.record.master_port,
                              attempt.record.store_host, attempt.witnessed});
  }
  if (attempt.witnessed) gangs_->lost_nodes().WatchSilence(attempt);
  state_->timers.Set(Alarm::kPhase, run->id(), turn.mono() + state_->options.start_timeout);
}

void GangStarter::Started(Turn& turn, Run* run, Member* member,
                          const std::vector<protocol::HeldRank>& ranks) {
  Attempt& attempt = *run->attempt;
  for (const protocol::HeldRank& started : ranks) {
    if (started.rank < 0 || started.rank >= attempt.record.world_size) continue;
    RankRecord& rank = attempt.ranks[static_cast<size_t>(started.rank)];
    if (rank.node != member->placement.node || rank.pid != 0) continue;
    rank.pid = started.pid;
    rank.started_at = turn.wall() - started.ago.started;
    attempt.running_since = std::max(attempt.running_since, turn.mono() - started.ago.started);
    turn.Save(rank);
  }
  member->Reach(MemberStage::kStarted);
  if (attempt.record.state != AttemptState::kStarting || !attempt.AllStarted()) return;
  SetState(&attempt, AttemptState::kRunning);
  attempt.record.started_at = turn.wall() - (turn.mono() - attempt.running_since);
  turn.Save(attempt.record);
  state_->runs.SetState(run, RunState::kRunning);
  run->record.reason = absl::StrCat("runs on ", JoinWords(attempt.NodeNames()));
  if (run->record.started_at == absl::InfinitePast()) {
    run->record.started_at = attempt.record.started_at;
  }
  turn.Save(run->record);
  turn.Event(
      event::kRunStarted, About(attempt.ref()),
      absl::StrCat(Count(attempt.record.world_size, "rank"), " on ", JoinWords(attempt.NodeNames()),
                   ", ", HumanDuration(turn.mono() - attempt.began), " after it was placed"));
  gangs_->Watch(run);
  WatchRendezvous(turn, state_, run);
  // Nodes may have come while the run was being started.
  state_->timers.Set(Alarm::kGrow, run->id(), turn.mono());
}

}  // namespace hpc::coordinator
