// What communicators have in common: the numbers of a group's collectives, the watch that knows who
// is missing (rank_watch.h), and what is thrown when one fails. Two that share one group, as those
// over NCCL and over Gloo for tensors of a GPU and of the CPU, number their collectives together,
// and are dead together.
#ifndef HPC_TRAIN_GROUP_WATCHED_GROUP_H_
#define HPC_TRAIN_GROUP_WATCHED_GROUP_H_

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "train/group/communicator.h"
#include "train/group/rank_watch.h"

namespace hpc::train {

class Rendezvous;

// A collective that this rank entered.
struct Begun {
  Collective collective;
  std::chrono::steady_clock::time_point since;
  std::chrono::milliseconds deadline{};

  std::chrono::steady_clock::time_point until() const { return since + deadline; }
};

// Thrown by what begins a collective, where another rank may be to blame. Anything else that it
// throws is this rank's own fault.
class PeerFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// All methods from any thread, but Join and OnVerdict, which come before the others.
class WatchedGroup {
 public:
  // `address`: an IP literal of this PC, where the others reach it. Errors name ranks by `numbers`,
  // where there are any. Throws std::system_error.
  WatchedGroup(int rank, int size, const std::string& address, std::vector<int> numbers = {});

  int rank() const { return rank_; }
  int size() const { return size_; }
  int NumberOf(int rank) const { return numbers_.empty() ? rank : numbers_[rank]; }

  // Gives the others `words`, none of which has a space, answers them from now on, and returns what
  // each rank gave. All give as many. Throws as Rendezvous.
  std::vector<std::vector<std::string>> Join(Rendezvous& rendezvous,
                                             const std::vector<std::string>& words);
  // In place of it, for a group of one.
  void JoinAlone();

  // `act` ends what waits for others. It is called once, when the group dies, in any thread, or now
  // if it is dead already. It neither blocks nor calls this group.
  void OnVerdict(std::function<void()> act);

  // Enters the next collective; `start` begins it, one at a time. Throws CollectiveError if the
  // group is dead, or dies since `start` throws.
  void Begin(std::string what, std::chrono::milliseconds deadline,
             const std::function<void(const Begun&)>& start);

  // After `error` in a collective: finds out who is to blame, or takes over what another rank
  // found. All that live have been told then. Takes at most twice kAnswerTime.
  CollectiveError Failed(const Begun& begun, const std::string& error);
  // After an error that is this rank's own.
  CollectiveError FailedHere(const Begun& begun, const std::string& error);

  // Ends the group for all, as Communicator::Abort and AbortForAll.
  void Abort(const std::string& reason);
  void AbortForAll(const std::string& reason);

  std::optional<Verdict> verdict() const { return watch_.verdict(); }
  std::vector<int> Gone() const { return watch_.Gone(); }
  // The last collective that was entered; 0: none.
  uint64_t number() const;

 private:
  void Start(std::vector<std::string> endpoints, std::string secret);
  void ActOnVerdict();
  CollectiveError Dead(const std::string& detail) const;

  const int rank_, size_;
  const std::vector<int> numbers_;
  mutable std::mutex order_;  // of collectives, while one begins
  uint64_t number_ = 0;

  std::mutex acts_mutex_;
  bool acted_ = false;
  std::vector<std::function<void()>> acts_;

  RankWatch watch_;  // last: its thread uses the others
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_WATCHED_GROUP_H_
