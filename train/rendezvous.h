// Where ranks meet: the store that the launcher serves (or rank 0), spoken to as PyTorch does.
#ifndef HPC_TRAIN_RENDEZVOUS_H_
#define HPC_TRAIN_RENDEZVOUS_H_

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "train/launch_environment.h"

namespace hpc::train {

// A connection to the store, with the keys of one group of one start of the ranks. All methods
// throw std::runtime_error, which names the store; where ranks did not come, a CollectiveError that
// names them.
//
// A store may outlive a run, and be asked by the next one with the same restart count. So keys have
// a word before them that rank 0 draws: environment.start, or one that the constructor agrees on.
class Rendezvous {
 public:
  // Waits at most `deadline` for the store, and as long for all ranks where environment.start is
  // empty. `group` is one word; each group of a run has its own. `gone` is asked while it waits for
  // ranks: those that have ended since, which are missing at once unless they came before.
  Rendezvous(
      const LaunchEnvironment& environment, const std::string& group,
      std::chrono::milliseconds deadline,
      std::function<std::vector<int>()> gone = [] { return std::vector<int>(); });

  // Gives `mine`, and returns what all ranks gave, in their order. `what` is once in a group.
  std::vector<std::string> Exchange(const std::string& what, const std::string& mine);

  // The word, the same on all ranks.
  const std::string& start() const { return start_; }

  // For c10d's process groups. Its operations have the deadline.
  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }

 private:
  void TellStart(c10d::Store& meeting);
  std::string AskForStart(c10d::Store& meeting);
  void Await(
      c10d::Store& store, const std::map<int, std::string>& keys,
      const std::function<void()>& meanwhile = [] {});
  template <typename Act>
  auto Asked(Act&& act) const -> decltype(act());
  void ThrowIfMissing(c10d::Store& store, const std::map<int, std::string>& keys, bool late) const;
  std::map<int, std::string> KeysOfAll(const std::string& what) const;

  const LaunchEnvironment environment_;
  const std::chrono::milliseconds deadline_;
  const std::function<std::vector<int>()> gone_;
  const std::string where_;
  std::string start_;
  c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_RENDEZVOUS_H_
