#include "tests/sim/people/owner.h"

#include "tests/sim/machines/worker.h"

namespace hpc::sim {

namespace wo = hpc::worker;

void Owner::Begin() {
  const double often = context_->options.Rate("reclaim-here") / context_->options.nodes;
  if (often <= 0) return;
  context_->agenda.After(context_->random.NextOf(often), [this] {
    if (context_->healing) return;
    Act();
    Begin();
  });
}

void Owner::Act() {
  if (!pc_->on() || pc_->worker() == nullptr) return;  // the command says that it cannot
  acted_ = true;
  if (!pc_->worker()->yield().reclaimed()) return Reclaim();
  // Even if no answer comes, it may have been done.
  mine_since_ = MonoTime::Infinite();
  pc_->worker()->Lend([this] {
    ++wishes_;
    context_->trace.Note(pc_->name(), ": its owner lends it");
  });
}

void Owner::Reclaim() {
  wo::YieldRequest request;
  request.grace = absl::Seconds(1 + context_->random.Below(10));
  if (context_->random.Chance(0.4)) {
    request.duration = context_->random.Between(absl::Seconds(2), absl::Minutes(1));
  }
  request.reason = "mine";
  pc_->worker()->Reclaim(request, [this, request] { OnReclaimed(request); });
}

void Owner::OnReclaimed(const wo::YieldRequest& request) {
  context_->trace.Note(pc_->name(), ": its owner takes it back");
  const uint64_t wish = ++wishes_;
  const MonoTime asked = context_->now();
  mine_since_ = request.duration ? MonoTime::Infinite() : asked;
  context_->agenda.After(
      request.grace + wo::Yield::kSlack,
      [this, wish, asked, quiet = pc_->quiet()] { CheckFree(wish, asked, quiet); });
}

// What hpcctl asked for a while ago may have had a time limit that is over only now.
void Owner::Look() {
  constexpr absl::Duration kLongestLimit = absl::Seconds(70);
  if (mine_since_ == MonoTime::Infinite() || pc_->worker() == nullptr || !pc_->on()) return;
  if (touched_() + kLongestLimit > mine_since_ || pc_->worker()->yield().reclaimed()) return;
  context_->verdict.Broken("acknowledged-reclaim", pc_->name(),
                           " was taken back by its owner, and nobody has lent it since");
}

// If the worker died or stood still meanwhile, it could not see to this. Watch checks the next
// worker.
void Owner::CheckFree(uint64_t wish, MonoTime asked, uint64_t quiet) {
  if (wish != wishes_ || !pc_->on() || pc_->worker() == nullptr) return;
  if (pc_->worker()->frozen() || pc_->quiet() != quiet) return;
  const std::string live = census_->LiveOn(pc_->name());
  if (!pc_->worker()->yield().reclaimed() || live.empty()) return;
  context_->verdict.Broken("reclaimed-in-time", pc_->name(), " was taken back ",
                           absl::FormatDuration(context_->now() - asked), " ago, and still has ",
                           live);
}

}  // namespace hpc::sim
