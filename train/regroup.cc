#include "train/regroup.h"

#include <algorithm>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/rank_list.h"
#include "train/rendezvous.h"

namespace hpc::train {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookForOthers{20};
constexpr char kMembers[] = "members";

std::string Announced(int rank) { return absl::StrCat("here/", rank); }

std::vector<uint8_t> Bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<int> ParseRanks(const std::vector<uint8_t>& bytes) {
  const std::string text(bytes.begin(), bytes.end());
  if (auto ranks = ParseRankList(text)) return *std::move(ranks);
  throw std::runtime_error("the store says of those that are left '" + OneLine(text) + "'");
}

// Of those that are not known to be gone.
std::vector<int> ThoseThatCame(c10d::Store& store, const LaunchEnvironment& environment,
                               const std::set<int>& gone) {
  std::vector<int> came;
  for (int rank = 0; rank < environment.world_size; ++rank) {
    if (gone.count(rank) == 0 && store.check({Announced(rank)})) came.push_back(rank);
  }
  return came;
}

// Who is left, as the first said that saw all of them.
std::vector<int> Members(c10d::Store& store, const LaunchEnvironment& environment,
                         std::set<int> gone, const RegroupOptions& options) {
  const auto until = SteadyClock::now() + options.deadline;
  store.set(Announced(environment.rank), Bytes("1"));
  for (;;) {
    if (store.check({kMembers})) return ParseRanks(store.get(kMembers));
    for (int rank : options.gone()) gone.insert(rank);
    const std::vector<int> came = ThoseThatCame(store, environment, gone);
    if (came.size() + gone.size() == static_cast<size_t>(environment.world_size) ||
        SteadyClock::now() >= until) {
      return ParseRanks(store.compareSet(kMembers, {}, Bytes(RankList(came))));
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
                                   const std::vector<int>& missing, int time,
                                   const RegroupOptions& options) {
  try {
    WithoutRanks(environment, missing);
  } catch (const std::invalid_argument& error) {
    throw NoRegroupError(error.what());
  }
  const std::set<int> gone(missing.begin(), missing.end());
  const int most = environment.world_size - static_cast<int>(gone.size());
  if (most < options.min_ranks) throw TooFew(most, environment, options);
  const Rendezvous rendezvous(environment, absl::StrCat("regroup/", time), options.deadline);
  const std::vector<int> members = Members(*rendezvous.store(), environment, gone, options);
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
