#include "train/group/regroup.h"

#include <algorithm>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/group/rank_list.h"
#include "train/group/rendezvous.h"

namespace hpc::train {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookForOthers{20};
constexpr char kHere[] = "here", kMembers[] = "members";

// Returns the ranks that came, without those that are known to be gone.
std::vector<int> ThoseThatCame(Rendezvous& rendezvous, const std::set<int>& gone) {
  std::vector<int> came;
  for (const auto& [rank, key] : rendezvous.KeysOfAll(kHere)) {
    if (gone.count(rank) == 0 && rendezvous.Has(key)) came.push_back(rank);
  }
  return came;
}

// Returns a RankList of the ranks that are left, as the first rank wrote it down that saw all of
// them.
std::string Members(Rendezvous& rendezvous, std::set<int> gone, const RegroupOptions& options) {
  const LaunchEnvironment& environment = rendezvous.environment();
  const auto until = SteadyClock::now() + options.deadline;
  rendezvous.Set(rendezvous.KeysOfAll(kHere).at(environment.rank), "1");
  for (;;) {
    if (rendezvous.Has(kMembers)) return rendezvous.Get(kMembers);
    for (int rank : options.gone()) gone.insert(rank);
    const std::vector<int> came = ThoseThatCame(rendezvous, gone);
    if (came.size() + gone.size() == static_cast<size_t>(environment.world_size) ||
        SteadyClock::now() >= until) {
      return rendezvous.SetOnce(kMembers, RankList(came));
    }
    if (options.give_up()) throw NoRegroupError("it was asked to stop meanwhile");
    std::this_thread::sleep_for(kLookForOthers);
  }
}

NoRegroupError TooFew(int left, const LaunchEnvironment& environment,
                      const RegroupOptions& options) {
  return NoRegroupError(absl::StrCat(left, " of ", Count(environment.world_size, "rank"),
                                     left == 1 ? " is left" : " are left", ", and it takes ",
                                     options.min_ranks, " to go on"));
}

}  // namespace

LaunchEnvironment AgreeOnThoseLeft(const LaunchEnvironment& environment,
                                   const std::vector<int>& missing, int round,
                                   const RegroupOptions& options) {
  try {
    WithoutRanks(environment, missing);
  } catch (const std::invalid_argument& error) {
    throw NoRegroupError(error.what());
  }
  const std::set<int> gone(missing.begin(), missing.end());
  const int most = environment.world_size - static_cast<int>(gone.size());
  if (most < options.min_ranks) throw TooFew(most, environment, options);
  Rendezvous rendezvous(environment, absl::StrCat("regroup/", round), options.deadline);
  const std::string said = Members(rendezvous, gone, options);
  const auto list = ParseRankList(said);
  if (!list) throw rendezvous.NoRankList(kMembers, said);
  const std::vector<int>& members = *list;
  std::vector<int> without;
  for (int rank = 0; rank < environment.world_size; ++rank) {
    if (std::count(members.begin(), members.end(), rank) == 0) without.push_back(rank);
  }
  if (std::count(without.begin(), without.end(), environment.rank) != 0) {
    throw NoRegroupError(absl::StrCat("the others went on without rank ", environment.number()));
  }
  if (static_cast<int>(members.size()) < options.min_ranks) {
    throw TooFew(static_cast<int>(members.size()), environment, options);
  }
  return WithoutRanks(environment, without);
}

}  // namespace hpc::train
