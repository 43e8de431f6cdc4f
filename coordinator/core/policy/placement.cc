#include "coordinator/core/policy/placement.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/policy/request_words.h"
#include "coordinator/core/policy/reservation.h"

namespace hpc::coordinator {
namespace {

// Whether both requests ask for the same, so that what is impossible for one is so for the other.
bool SameShape(const RunRequest& a, const RunRequest& b) {
  return a.min_nodes == b.min_nodes && a.max_nodes == b.max_nodes &&
         a.gpus_per_node == b.gpus_per_node && a.node_list == b.node_list &&
         a.exclude == b.exclude && a.time_limit == b.time_limit && a.stop_grace == b.stop_grace;
}

class Planner {
 public:
  explicit Planner(PlacementInput input) : input_(std::move(input)), nothing_free_(NothingFree()) {}

  PlacementResult Run(const std::vector<Candidate>& candidates) {
    for (const Candidate& candidate : candidates) {
      if (result_.holder != 0 && nothing_free_) break;
      if (KnownImpossible(candidate)) continue;
      std::optional<Fit> fit = Try(candidate);
      if (fit.has_value() && candidate.later) {
        TakeShares(candidate, *fit);
        result_.later.push_back(candidate.run);
      } else if (fit.has_value() && MayGather(candidate, *fit)) {
        Gather(candidate, *fit);
      } else if (fit.has_value()) {
        Accept(candidate, std::move(*fit));
      } else if (result_.holder != 0 || !TryToHold(candidate)) {
        impossible_.push_back(&candidate);
      }
    }
    return std::move(result_);
  }

 private:
  bool NothingFree() const {
    return std::none_of(input_.nodes.begin(), input_.nodes.end(), AnythingFree);
  }

  bool KnownImpossible(const Candidate& candidate) const {
    return std::any_of(impossible_.begin(), impossible_.end(), [&](const Candidate* other) {
      return SameShape(*candidate.request, *other->request) &&
             candidate.wishes.leave_asleep == other->wishes.leave_asleep;
    });
  }

  // The time by which the candidate's devices are free again if it starts now.
  MonoTime EndOf(const RunRequest& request) const {
    return input_.now + (request.time_limit + request.stop_grace);
  }
  bool EndsInTime(const RunRequest& request) const {
    return held_.start < MonoTime::Infinite() && EndOf(request) <= held_.start;
  }

  std::optional<Fit> Try(const Candidate& candidate) const {
    const RunRequest& request = *candidate.request;
    const bool all = result_.holder == 0 || EndsInTime(request);
    const std::vector<NodeSpace>& nodes = all ? input_.nodes : beside_;
    return Choose(request, nodes, Eligible(request, input_.nodes), candidate.wishes);
  }

  // Whether the candidate waits for more nodes. A gang that has to wake nodes does not: it waits
  // long enough for those.
  bool MayGather(const Candidate& candidate, const Fit& fit) const {
    return candidate.last_call > absl::ZeroDuration() &&
           static_cast<int32_t>(fit.shares.size()) < candidate.request->max_nodes &&
           std::all_of(fit.shares.begin(), fit.shares.end(),
                       [&](const NodeShare& share) { return input_.nodes[share.node].awake; });
  }

  void Gather(const Candidate& candidate, const Fit& fit) {
    TakeShares(candidate, fit);
    result_.gathering.push_back(candidate.run);
  }

  void TakeShares(const Candidate& candidate, const Fit& fit) {
    const MonoTime until = EndOf(*candidate.request);
    for (const NodeShare& share : fit.shares) {
      Take(&input_.nodes[share.node], share.devices);
      input_.taken.push_back({share.node, share.devices, until});
    }
    nothing_free_ = NothingFree();
    if (result_.holder == 0) return;
    std::optional<Reservation> held = Reserve(input_, *holder_);
    if (held.has_value()) Hold(std::move(*held));
  }

  bool TryToHold(const Candidate& candidate) {
    std::optional<Reservation> held = Reserve(input_, candidate);
    if (!held.has_value()) return false;
    holder_ = &candidate;
    result_.holder = candidate.run;
    Hold(std::move(*held));
    return true;
  }

  void Hold(Reservation held) {
    held_ = std::move(held);
    beside_ = Without(input_.nodes, held_);
    result_.holder_start.reset();
    if (held_.start < MonoTime::Infinite()) result_.holder_start = held_.start;
  }

  void Accept(const Candidate& candidate, Fit fit) {
    if (result_.holder != 0) {
      absl::StrAppend(&fit.reason, "; passes run ", result_.holder, ", which needs ",
                      NodeCountWords(*holder_->request), ": ",
                      EndsInTime(*candidate.request)
                          ? absl::StrCat("ends before that one can start, in ",
                                         HumanDuration(held_.start - input_.now))
                          : std::string("it does not need these devices"));
    }
    TakeShares(candidate, fit);
    result_.placed.push_back({candidate.run, std::move(fit)});
  }

  PlacementInput input_;
  bool nothing_free_;
  PlacementResult result_;
  const Candidate* holder_ = nullptr;
  Reservation held_;
  std::vector<NodeSpace> beside_;  // the nodes less what the holder needs
  std::vector<const Candidate*> impossible_;
};

}  // namespace

PlacementResult Place(PlacementInput input, const std::vector<Candidate>& candidates) {
  return Planner(std::move(input)).Run(candidates);
}

}  // namespace hpc::coordinator
