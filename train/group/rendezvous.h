// The place where ranks meet: the store that the launcher (or rank 0) serves, used as PyTorch uses
// it.
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
// throw at the latest after the deadline: a std::runtime_error that names the store, or, where
// ranks did not come, a CollectiveError that names them. Must be used from one thread.
class Rendezvous {
 public:
  // Waits at most `deadline` for the store, and not at all for a name that does not resolve.
  // `group` is one word; each group of a run has its own. `gone` is asked while ranks are waited
  // for. It returns ranks that have ended since; these are missing at once, unless they came
  // before.
  Rendezvous(
      const LaunchEnvironment& environment, const std::string& group,
      std::chrono::milliseconds deadline,
      std::function<std::vector<int>()> gone = [] { return std::vector<int>(); });

  // Gives `mine`, and returns what all ranks gave, in their order. `what` may be used once in a
  // group. Either all living ranks return, or all throw with the same ranks missing: those that the
  // first of them found.
  std::vector<std::string> Exchange(const std::string& what, const std::string& mine);

  // Waits until all `keys` are there, but no longer than the deadline. `keys` are sorted by the
  // rank that sets them. Returns the ranks that are missing, if any. Calls `meanwhile` again and
  // again. With `what`, it also ends as soon as a rank has found somebody missing in FirstFound of
  // that `what`.
  std::optional<Verdict> Await(
      const std::map<int, std::string>& keys, const std::string& what = "",
      const std::function<void()>& meanwhile = [] {});
  // Returns what the first rank found in Await, whatever this one has found. All living ranks must
  // call it, and all get the same. If somebody is missing, all ranks may end after it. So rank 0
  // stays until the others have the result, or for a second, if it serves the store or does
  // something `meanwhile` that the others need to get here.
  std::optional<Verdict> FirstFound(const std::string& what, const std::optional<Verdict>& found,
                                    const std::function<void()>& meanwhile = nullptr);
  // Returns "what/0", "what/1", ...
  std::map<int, std::string> KeysOfAll(const std::string& what) const;

  bool Has(const std::string& key);
  std::string Get(const std::string& key);  // the key must be there
  void Set(const std::string& key, const std::string& value);
  // Sets the value, unless somebody has set one. Returns the value that it has then, which is the
  // same for all.
  std::string SetOnce(const std::string& key, const std::string& value);
  // Makes the error that the store has `found` in place of a RankList (rank_list.h).
  std::runtime_error NoRankList(const std::string& key, const std::string& found) const;

  CollectiveError Failed(const Verdict& verdict) const;

  const LaunchEnvironment& environment() const { return environment_; }

  // For c10d's process groups. Its operations have the same deadline.
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
