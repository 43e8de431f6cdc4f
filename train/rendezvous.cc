#include "train/rendezvous.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/communicator.h"
#include "train/own_address.h"
#include "train/reason.h"

namespace hpc::train {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr char kHere[] = "here";

std::string HowLong(milliseconds time) { return HumanDuration(absl::Milliseconds(time.count())); }

void Set(c10d::Store& store, const std::string& key, const std::string& value) {
  store.set(key, std::vector<uint8_t>(value.begin(), value.end()));
}

std::string Get(c10d::Store& store, const std::string& key) {
  const std::vector<uint8_t> value = store.get(key);
  return {value.begin(), value.end()};
}

std::string KeyOf(const std::string& what, int rank) { return absl::StrCat(what, "/", rank); }

std::string AnswerTo(const std::string& word) { return "start/" + word; }

}  // namespace

Rendezvous::Rendezvous(const LaunchEnvironment& environment, const std::string& group,
                       milliseconds deadline, std::function<std::vector<int>()> gone)
    : environment_(environment),
      deadline_(deadline),
      gone_(std::move(gone)),
      where_(absl::StrCat(environment.master_addr, ":", environment.master_port)),
      start_(environment.start) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(environment.master_port);
  options.isServer = !environment.store_is_served && environment.rank == 0;
  options.waitWorkers = false;
  options.multiTenant = true;  // groups of a process share the server
  options.timeout = deadline;
  c10::intrusive_ptr<c10d::Store> meeting;
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(environment.master_addr, options);
    meeting = c10::make_intrusive<c10d::PrefixStore>(
        absl::StrCat("hpc-train/", environment.restart_count, "/", group), store);
  } catch (const std::exception& error) {
    throw std::runtime_error(absl::StrCat("rank ", environment.number(), ": no store at ", where_,
                                          " (MASTER_ADDR, MASTER_PORT) within ", HowLong(deadline),
                                          ": ", ReasonOf(error)));
  }
  const bool agrees = start_.empty();
  if (agrees) start_ = environment.rank == 0 ? RandomWord() : AskForStart(*meeting);
  store_ = c10::make_intrusive<c10d::PrefixStore>(start_, meeting);
  if (agrees) TellStart(*meeting);
}

template <typename Act>
auto Rendezvous::Asked(Act&& act) const -> decltype(act()) {
  try {
    return act();
  } catch (const CollectiveError&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(absl::StrCat("rank ", environment_.number(), ": the store at ", where_,
                                          " failed: ", ReasonOf(error)));
  }
}

// Nobody can tell a word in the store that is of this start from one that an earlier run left. So
// each rank asks with a word that it has just drawn: an answer to it can be of no earlier run.
std::string Rendezvous::AskForStart(c10d::Store& meeting) {
  const std::string mine = RandomWord();
  Asked([&] { Set(meeting, KeyOf("ask", environment_.rank), mine); });
  Await(meeting, {{0, AnswerTo(mine)}});
  return Asked([&] { return Get(meeting, AnswerTo(mine)); });
}

// Until all ranks have it. Rank 0 answers whatever is asked; what an earlier run asked is answered
// too, and nobody listens.
void Rendezvous::TellStart(c10d::Store& meeting) {
  Asked([&] { Set(*store_, KeyOf(kHere, environment_.rank), "1"); });
  std::map<int, std::string> answered;
  Await(*store_, KeysOfAll(kHere), [&] {
    for (int rank = 1; environment_.rank == 0 && rank < environment_.world_size; ++rank) {
      const std::string key = KeyOf("ask", rank);
      if (!meeting.check({key})) continue;
      const std::string word = Get(meeting, key);
      if (answered[rank] == word) continue;
      answered[rank] = word;
      Set(meeting, AnswerTo(word), start_);
    }
  });
}

std::map<int, std::string> Rendezvous::KeysOfAll(const std::string& what) const {
  std::map<int, std::string> keys;
  for (int rank = 0; rank < environment_.world_size; ++rank) keys[rank] = KeyOf(what, rank);
  return keys;
}

void Rendezvous::Await(c10d::Store& store, const std::map<int, std::string>& keys,
                       const std::function<void()>& meanwhile) {
  constexpr milliseconds kLongestPause{10};
  const auto until = SteadyClock::now() + deadline_;
  Asked([&] {
    auto next = keys.begin();
    for (milliseconds pause{1};; pause = std::min(2 * pause, kLongestPause)) {
      while (next != keys.end() && store.check({next->second})) ++next;
      if (next == keys.end()) return;
      meanwhile();
      ThrowIfMissing(store, keys, SteadyClock::now() >= until);
      std::this_thread::sleep_for(pause);
    }
  });
}

// Who has ended and has not come by then never comes: so all that wait find the same.
void Rendezvous::ThrowIfMissing(c10d::Store& store, const std::map<int, std::string>& keys,
                                bool late) const {
  const std::vector<int> gone = gone_();  // before its key is looked for
  std::vector<int> missing;
  std::vector<std::string> names;
  for (const auto& [rank, key] : keys) {
    if (!late && std::count(gone.begin(), gone.end(), rank) == 0) continue;
    if (store.check({key})) continue;
    missing.push_back(rank);
    names.push_back(absl::StrCat(environment_.NumberOf(rank)));
  }
  if (missing.empty()) return;
  throw CollectiveError(
      missing, absl::StrCat("rank ", environment_.number(), ": rank ", JoinSome(names, 8),
                            late ? " did not come" : " ended before it came", " to the store at ",
                            where_, late ? " within " + HowLong(deadline_) : ""));
}

std::vector<std::string> Rendezvous::Exchange(const std::string& what, const std::string& mine) {
  Asked([&] { Set(*store_, KeyOf(what, environment_.rank), mine); });
  const std::map<int, std::string> keys = KeysOfAll(what);
  Await(*store_, keys);
  return Asked([&] {
    std::vector<std::string> values;
    for (const auto& [rank, key] : keys) values.push_back(Get(*store_, key));
    return values;
  });
}

}  // namespace hpc::train
