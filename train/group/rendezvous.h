// Where ranks meet: the store that the launcher serves (or rank 0), spoken to as PyTorch does.
#ifndef HPC_TRAIN_GROUP_RENDEZVOUS_H_
#define HPC_TRAIN_GROUP_RENDEZVOUS_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "train/group/communicator.h"
#include "train/group/verdict.h"
#include "train/net/launch_environment.h"
#include "train/net/store_limit.h"

namespace hpc::train {

// A connection to the store, with the keys of one group of one start of the ranks. All methods
// throw std::runtime_error, which names the store, after the deadline at the latest; where ranks
// did not come, a CollectiveError that names them. From one thread.
class Rendezvous {
 public:
  // Waits at most `deadline` for the store, and not at all for a name that does not resolve.
  // `group` is one word; each group of a run has its own. `gone` is asked while ranks are waited
  // for: those that have ended since, which are missing at once unless they came before.
  Rendezvous(
      const LaunchEnvironment& environment, const std::string& group,
      std::chrono::milliseconds deadline,
      std::function<std::vector<int>()> gone = [] { return std::vector<int>(); });

  // Gives `mine`, and returns what all ranks gave, in their order. `what` is once in a group. All
  // that live return, or all throw with the same ranks missing: what the first of them found.
  std::vector<std::string> Exchange(const std::string& what, const std::string& mine);

  // Waits at most the deadline until all `keys`, by the rank that sets them, are there; returns who
  // is missing, if somebody is. Does `meanwhile` again and again. With `what`, ends too as soon as
  // a rank has found somebody missing in FirstFound of that.
  std::optional<Verdict> Await(
      const std::map<int, std::string>& keys, const std::string& what = "",
      const std::function<void()>& meanwhile = [] {});
  // What the first rank found in Await, whatever this one has: the same for all that live, which
  // all call it. Where somebody is missing, all may end after it: rank 0 returns when the others
  // have it, or after a second, if it serves the store or has something to do `meanwhile`, which
  // others need to get here.
  std::optional<Verdict> FirstFound(const std::string& what, const std::optional<Verdict>& found,
                                    const std::function<void()>& meanwhile = nullptr);
  // "what/0", "what/1", ...
  std::map<int, std::string> KeysOfAll(const std::string& what) const;

  bool Has(const std::string& key);
  std::string Get(const std::string& key);  // which is there
  void Set(const std::string& key, const std::string& value);
  // Unless somebody has set it: the value that it has then, the same for all.
  std::string SetOnce(const std::string& key, const std::string& value);
  // What the store has in place of a RankList (rank_list.h).
  std::runtime_error NoRankList(const std::string& key, const std::string& found) const;

  CollectiveError Failed(const Verdict& verdict) const;

  const LaunchEnvironment& environment() const { return environment_; }

  // For c10d's process groups. Its operations have the deadline.
  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }

 private:
  void CheckName() const;
  c10::intrusive_ptr<c10d::Store> Connect(c10d::TCPStoreOptions options) const;
  std::string WhyNot(const std::string& error) const;
  std::runtime_error NoStore(const std::string& why) const;
  template <typename Act>
  auto Asked(Act&& act) const -> decltype(act());
  std::optional<Verdict> LookForMissing(const std::map<int, std::string>& keys, bool late);
  std::optional<Verdict> Found(const std::string& what);
  void StayForOthers(const std::string& what, const Verdict& verdict,
                     const std::function<void()>& meanwhile);

  const LaunchEnvironment environment_;
  const std::chrono::milliseconds deadline_;
  const std::function<std::vector<int>()> gone_;
  const std::string where_;
  const std::unique_ptr<StoreLimit> limit_;
  c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_RENDEZVOUS_H_
