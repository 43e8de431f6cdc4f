// A word that tells this start of a run's ranks apart from all others.
#ifndef HPC_TRAIN_GROUP_START_WORD_H_
#define HPC_TRAIN_GROUP_START_WORD_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "train/group/verdict.h"
#include "train/net/launch_environment.h"

namespace hpc::train {

class Rendezvous;

// Rank 0 calls `tell` once if others have not come `after` it began: "waiting for rank 1, ...".
struct StartWaiting {
  std::chrono::milliseconds after = std::chrono::seconds(10);
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

// Rank 0 draws the word, and all ranks get it, whatever earlier runs left in the store. It is used
// for LaunchEnvironment::start, before the first group is made, when no rank is known to have
// ended. Keep this object as long as the store is used, since rank 0 may serve the store.
class StartWord {
 public:
  // Must be called on all ranks. Returns when all have the word; waits at most `deadline` for the
  // store, and as long for the other ranks. Throws as Rendezvous does, the same on all ranks. A
  // rank that was told another number of ranks than rank 0 counts as missing, and so does a rank
  // that two processes claim to be. Whichever of those two hears of it first ends alone.
  StartWord(const LaunchEnvironment& environment, std::chrono::milliseconds deadline,
            StartWaiting waiting = {});
  ~StartWord();

  const std::string& word() const { return word_; }

 private:
  void CheckOneRankZero();
  std::string Ask();
  void CheckWorld(const std::string& word, const std::string& ranks_of_rank_0);
  void Come();
  Verdict Twins() const;
  [[noreturn]] void Refuse(const std::string& word, const Verdict& mine);
  void Tell();
  void TellWhoIsWaitedFor(const std::map<int, std::string>& here);

  const StartWaiting waiting_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool told_ = false;
  std::unique_ptr<Rendezvous> meeting_;  // none if the run is this rank alone
  const std::string mine_;               // a word like word_, but of this rank's process alone
  std::string word_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_START_WORD_H_
