#include "train/group/watched_group.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "train/group/reason.h"
#include "train/group/rendezvous.h"
#include "train/net/own_address.h"

namespace hpc::train {
namespace {

using Milliseconds = std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// Shortens errors of libraries, which may fill a page.
std::string Short(const std::string& error) { return OneLine(error.substr(0, 200)); }

}  // namespace

WatchedGroup::WatchedGroup(int rank, int size, const std::string& address, std::vector<int> numbers)
    : rank_(rank), size_(size), numbers_(std::move(numbers)), watch_(rank, address, numbers_) {}

std::vector<std::vector<std::string>> WatchedGroup::Join(Rendezvous& rendezvous,
                                                         const std::vector<std::string>& words) {
  const std::string mine =
      absl::StrCat(watch_.endpoint(), " ", RandomWord(), " ", absl::StrJoin(words, " "));
  std::vector<std::vector<std::string>> all;
  std::vector<std::string> endpoints;
  std::string secret;
  for (const std::string& theirs : rendezvous.Exchange("member", mine)) {
    std::vector<std::string> said = absl::StrSplit(theirs, ' ');
    if (said.size() != words.size() + 2) {
      throw std::runtime_error("a rank says of itself '" + theirs + "'");
    }
    if (endpoints.empty()) secret = said[1];
    endpoints.push_back(said[0]);
    all.emplace_back(said.begin() + 2, said.end());
  }
  Start(std::move(endpoints), std::move(secret));
  return all;
}

void WatchedGroup::JoinAlone() { Start({watch_.endpoint()}, RandomWord()); }

void WatchedGroup::Start(std::vector<std::string> endpoints, std::string secret) {
  watch_.Start(std::move(endpoints), std::move(secret), [this] { ActOnVerdict(); });
}

void WatchedGroup::OnVerdict(std::function<void()> act) {
  std::lock_guard lock(acts_mutex_);
  if (acted_) return act();
  acts_.push_back(std::move(act));
}

void WatchedGroup::ActOnVerdict() {
  std::lock_guard lock(acts_mutex_);
  acted_ = true;
  for (const auto& act : acts_) act();
}

void WatchedGroup::Begin(std::string what, Milliseconds deadline,
                         const std::function<void(const Begun&)>& start) {
  std::lock_guard lock(order_);
  if (verdict()) throw Dead(absl::StrCat(" (before ", what, ")"));
  const Begun begun = {.collective = {.number = ++number_, .what = std::move(what)},
                       .since = SteadyClock::now(),
                       .deadline = deadline};
  watch_.Enter(begun.collective);
  try {
    start(begun);
  } catch (const PeerFault& fault) {
    throw Failed(begun, fault.what());
  } catch (const std::exception& error) {
    watch_.Declare({.missing = {rank_},
                    .reason = absl::StrCat("rank ", NumberOf(rank_), " cannot begin ",
                                           begun.collective.ToString(), ": ", ReasonOf(error))});
    throw Dead("");
  }
}

CollectiveError WatchedGroup::Failed(const Begun& begun, const std::string& error) {
  const auto took = std::chrono::duration_cast<Milliseconds>(SteadyClock::now() - begun.since);
  // "Application timeout" is the error of operations that were under way beside the one that has
  // timed out.
  const bool timed_out = took >= begun.deadline || absl::StrContains(error, "imed out") ||
                         absl::StrContains(error, "Application timeout");
  watch_.Investigate({.collective = begun.collective,
                      .timed_out = timed_out,
                      .seen = absl::StrCat("rank ", NumberOf(rank_), " saw: ", Short(error))});
  return Dead(absl::StrCat(" (", begun.collective.ToString(), " failed after ",
                           HumanDuration(absl::Milliseconds(took.count())), ": ", Short(error),
                           ")"));
}

CollectiveError WatchedGroup::FailedHere(const Begun& begun, const std::string& error) {
  watch_.Declare({.missing = {rank_},
                  .reason = absl::StrCat("rank ", NumberOf(rank_), " failed in ",
                                         begun.collective.ToString(), ": ", Short(error))});
  return Dead("");
}

void WatchedGroup::Abort(const std::string& reason) {
  watch_.Declare(
      {.missing = {rank_}, .reason = absl::StrCat("rank ", NumberOf(rank_), " aborted: ", reason)});
}

void WatchedGroup::AbortForAll(const std::string& reason) {
  watch_.Declare({.reason = absl::StrCat("rank ", NumberOf(rank_), " aborted: ", reason)});
}

uint64_t WatchedGroup::number() const {
  std::lock_guard lock(order_);
  return number_;
}

CollectiveError WatchedGroup::Dead(const std::string& detail) const {
  const std::optional<Verdict> dead = verdict();
  if (!dead)
    return CollectiveError({},
                           absl::StrCat("rank ", NumberOf(rank_), ": the group failed", detail));
  return CollectiveError(dead->missing,
                         absl::StrCat("rank ", NumberOf(rank_), ": ", dead->reason, detail));
}

}  // namespace hpc::train
