#include "train/group/rendezvous.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "train/group/rank_list.h"
#include "train/group/reason.h"
#include "train/net/sockets.h"

namespace hpc::train {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

std::string HowLong(milliseconds time) { return HumanDuration(absl::Milliseconds(time.count())); }

std::string KeyOf(const std::string& what, int rank) { return absl::StrCat(what, "/", rank); }

}  // namespace

Rendezvous::Rendezvous(const LaunchEnvironment& environment, const std::string& group,
                       milliseconds deadline, std::function<std::vector<int>()> gone)
    : environment_(environment),
      deadline_(deadline),
      gone_(std::move(gone)),
      where_(absl::StrCat(environment.master_addr, ":", environment.master_port)),
      limit_(std::make_unique<StoreLimit>(environment.master_port, deadline)) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(environment.master_port);
  options.isServer = !environment.store_is_served && environment.rank == 0;
  options.waitWorkers = false;
  options.multiTenant = true;  // the groups of a process share the server
  CheckName();
  store_ = c10::make_intrusive<c10d::PrefixStore>(
      absl::StrCat("hpc-train/", environment.restart_count, "/", environment.start, "/", group),
      Connect(options));
}

std::runtime_error Rendezvous::NoStore(const std::string& why) const {
  return std::runtime_error(absl::StrCat("rank ", environment_.number(), ": no store at ", where_,
                                         " (MASTER_ADDR, MASTER_PORT)", why));
}

// A name that does not resolve is refused here, because c10d would try it again and again.
void Rendezvous::CheckName() const {
  try {
    LocalAddressTowards(environment_.master_addr, environment_.master_port);
  } catch (const std::exception& error) {
    throw NoStore(absl::StrCat(": ", error.what()));
  }
}

// Connects in a thread of its own. Where nobody answers, c10d takes up to three times as long as it
// is given, and nothing wakes it. Then the thread is left to itself.
c10::intrusive_ptr<c10d::Store> Rendezvous::Connect(c10d::TCPStoreOptions options) const {
  constexpr milliseconds kAnswer{1000};
  options.timeout = deadline_;
  const StoreLimit::Call call(*limit_);
  std::packaged_task connect([host = environment_.master_addr, options] {
    return c10::make_intrusive<c10d::TCPStore>(host, options);
  });
  auto connected = connect.get_future();
  std::thread(std::move(connect)).detach();
  if (connected.wait_for(deadline_ + kAnswer) != std::future_status::ready) {
    throw NoStore(WhyNot("it does not answer"));
  }
  try {
    return connected.get();
  } catch (const std::exception& error) {
    throw NoStore(WhyNot(ReasonOf(error)));
  }
}

// Finds better words than c10d's own, which may name an address that nobody has.
std::string Rendezvous::WhyNot(const std::string& error) const {
  if (absl::StrContains(error, "EADDRINUSE")) {
    return ": another program, or a second rank 0, has this port: say another MASTER_PORT on all "
           "ranks";
  }
  const std::string within = absl::StrCat(" within ", HowLong(deadline_), ": ");
  const Connection tried =
      ConnectToAnyOf(environment_.master_addr, environment_.master_port, milliseconds(1000));
  if (tried.socket.ok()) return absl::StrCat(within, "what listens there is none (", error, ")");
  const bool refused = tried.error == ECONNREFUSED;
  return absl::StrCat(within, std::strerror(tried.error),
                      refused ? ": nothing listens there; is rank 0 started, and on that PC?" : "");
}

template <typename Act>
auto Rendezvous::Asked(Act&& act) const -> decltype(act()) {
  try {
    const StoreLimit::Call call(*limit_);
    return act();
  } catch (const std::exception& error) {
    throw std::runtime_error(absl::StrCat("rank ", environment_.number(), ": the store at ", where_,
                                          " failed: ", ReasonOf(error)));
  }
}

bool Rendezvous::Has(const std::string& key) {
  return Asked([&] { return store_->check({key}); });
}

std::string Rendezvous::Get(const std::string& key) {
  const std::vector<uint8_t> value = Asked([&] { return store_->get(key); });
  return {value.begin(), value.end()};
}

void Rendezvous::Set(const std::string& key, const std::string& value) {
  Asked([&] { store_->set(key, std::vector<uint8_t>(value.begin(), value.end())); });
}

std::string Rendezvous::SetOnce(const std::string& key, const std::string& value) {
  const std::vector<uint8_t> first = Asked([&] {
    return store_->compareSet(key, {}, std::vector<uint8_t>(value.begin(), value.end()));
  });
  return {first.begin(), first.end()};
}

std::runtime_error Rendezvous::NoRankList(const std::string& key, const std::string& found) const {
  return std::runtime_error(absl::StrCat(
      "rank ", environment_.number(), ": the store at ", where_, " has '", OneLine(found), "' for ",
      key, ", where ranks belong: give each run a store (MASTER_PORT) of its own"));
}

std::map<int, std::string> Rendezvous::KeysOfAll(const std::string& what) const {
  std::map<int, std::string> keys;
  for (int rank = 0; rank < environment_.world_size; ++rank) keys[rank] = KeyOf(what, rank);
  return keys;
}

std::optional<Verdict> Rendezvous::Await(const std::map<int, std::string>& keys,
                                         const std::string& what,
                                         const std::function<void()>& meanwhile) {
  constexpr milliseconds kLongestPause{10};
  const auto until = SteadyClock::now() + deadline_;
  auto next = keys.begin();
  for (milliseconds pause{1};; pause = std::min(2 * pause, kLongestPause)) {
    while (next != keys.end() && Has(next->second)) ++next;
    if (next == keys.end()) return std::nullopt;
    meanwhile();
    auto missing = what.empty() ? std::nullopt : Found(what);
    if (!missing) missing = LookForMissing(keys, SteadyClock::now() >= until);
    if (missing) return missing;
    std::this_thread::sleep_for(pause);
  }
}

std::optional<Verdict> Rendezvous::LookForMissing(const std::map<int, std::string>& keys,
                                                  bool late) {
  // Asked first, so that a key that came before the end is still found.
  const std::vector<int> gone = gone_();
  Verdict verdict;
  std::vector<std::string> names;
  for (const auto& [rank, key] : keys) {
    if (!late && std::count(gone.begin(), gone.end(), rank) == 0) continue;
    if (Has(key)) continue;
    verdict.missing.push_back(rank);
    names.push_back(absl::StrCat(environment_.NumberOf(rank)));
  }
  if (verdict.missing.empty()) return std::nullopt;
  verdict.reason =
      absl::StrCat("rank ", JoinSome(names, 8), late ? " did not come" : " ended before it came",
                   " to the store at ", where_, late ? " within " + HowLong(deadline_) : "");
  return verdict;
}

CollectiveError Rendezvous::Failed(const Verdict& verdict) const {
  return {verdict.missing, absl::StrCat("rank ", environment_.number(), ": ", verdict.reason)};
}

// Returns none if nobody has found anything yet, or if the first rank found that nobody is missing.
std::optional<Verdict> Rendezvous::Found(const std::string& what) {
  const std::string key = what + "/found";
  if (!Has(key)) return std::nullopt;
  const std::string first = Get(key);
  const std::pair<std::string, std::string> words = absl::StrSplit(first, absl::MaxSplits(' ', 1));
  const auto missing = ParseRankList(words.first);
  if (!missing) throw NoRankList(key, first);
  if (missing->empty()) return std::nullopt;
  return Verdict{.missing = *missing, .reason = words.second};
}

// All use the first rank's finding. A key may arrive between the looks of two ranks, and then one
// would go on without the other.
std::optional<Verdict> Rendezvous::FirstFound(const std::string& what,
                                              const std::optional<Verdict>& found,
                                              const std::function<void()>& meanwhile) {
  const Verdict mine = found.value_or(Verdict{});
  SetOnce(what + "/found", absl::StrCat(RankList(mine.missing), " ", mine.reason));
  std::optional<Verdict> first = Found(what);
  if (first) StayForOthers(what, *first, meanwhile);
  return first;
}

void Rendezvous::StayForOthers(const std::string& what, const Verdict& verdict,
                               const std::function<void()>& meanwhile) {
  constexpr milliseconds kLongest{1000}, kLook{10};
  const std::string told = what + "/told";
  Set(KeyOf(told, environment_.rank), "1");
  if (environment_.rank != 0 || (environment_.store_is_served && !meanwhile)) return;
  std::map<int, std::string> others = KeysOfAll(told);
  for (int rank : verdict.missing) others.erase(rank);
  const auto until = SteadyClock::now() + std::min(kLongest, deadline_);
  for (auto next = others.begin(); next != others.end() && SteadyClock::now() < until;) {
    if (meanwhile) meanwhile();
    if (Has(next->second)) {
      ++next;
    } else {
      std::this_thread::sleep_for(kLook);
    }
  }
}

std::vector<std::string> Rendezvous::Exchange(const std::string& what, const std::string& mine) {
  Set(KeyOf(what, environment_.rank), mine);
  const std::map<int, std::string> keys = KeysOfAll(what);
  if (const auto verdict = FirstFound(what, Await(keys, what))) throw Failed(*verdict);
  std::vector<std::string> values;
  for (const auto& [rank, key] : keys) values.push_back(Get(key));
  return values;
}

}  // namespace hpc::train
