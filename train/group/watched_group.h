// The part that communicators have in common: the numbers of a group's collectives, the watch that
// knows who is missing (rank_watch.h), and the error that is thrown when one fails. Two
// communicators may share one group, such as those over NCCL and Gloo for tensors of a GPU and of
// the CPU. They then number their collectives together, and are dead together.
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

// The function that begins a collective throws this where another rank may be to blame. Anything
// else that it throws is this rank's own fault.
class PeerFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// All methods may be called from any thread, except Join and OnVerdict, which must come before the
// others.
class WatchedGroup {
 public:
  // `address` is an IP literal of this PC at which the others reach it. Errors name ranks by
  // `numbers`, if there are any. Throws std::system_error.
  WatchedGroup(int rank, int size, const std::string& address, std::vector<int> numbers = {});

  int rank() const { return rank_; }
  int size() const { return size_; }
  int NumberOf(int rank) const { return numbers_.empty() ? rank : numbers_[rank]; }

  // Gives the others `words`, returns what each rank gave, and answers the others from now on. No
  // word may contain a space, and all ranks must give as many. Throws as Rendezvous does.
  std::vector<std::vector<std::string>> Join(Rendezvous& rendezvous,
                                             const std::vector<std::string>& words);
  // Replaces Join in a group of one.
  void JoinAlone();

  // `act` ends waits for others. It is called once when the group dies, in any thread, or at once
  // if the group is dead already. It must neither block nor call this group.
  void OnVerdict(std::function<void()> act);

  // Enters the next collective. `start` begins it, one at a time. Throws CollectiveError if the
  // group is dead, or dies because `start` throws.
  void Begin(std::string what, std::chrono::milliseconds deadline,
             const std::function<void(const Begun&)>& start);

  // Must be called after `error` in a collective. Finds out who is to blame, or takes over what
  // another rank found. All living ranks have been told then. Takes at most twice kAnswerTime.
  CollectiveError Failed(const Begun& begun, const std::string& error);
  // Must be called after an error that is this rank's own fault.
  CollectiveError FailedHere(const Begun& begun, const std::string& error);

  // Ends the group for all ranks, like Communicator::Abort and AbortForAll.
  void Abort(const std::string& reason);
  void AbortForAll(const std::string& reason);

  std::optional<Verdict> verdict() const { return watch_.verdict(); }
  std::vector<int> Gone() const { return watch_.Gone(); }
  // Returns the number of the last collective that was entered; 0: none.
  uint64_t number() const;

 private:
  void Start(std::vector<std::string> endpoints, std::string secret);
  void ActOnVerdict();
  CollectiveError Dead(const std::string& detail) const;

  const int rank_, size_;
  const std::vector<int> numbers_;
  mutable std::mutex order_;  // held while a collective begins; keeps their order
  uint64_t number_ = 0;

  std::mutex acts_mutex_;
  bool acted_ = false;
  std::vector<std::function<void()>> acts_;

  RankWatch watch_;  // declared last, since its thread uses the others
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_WATCHED_GROUP_H_
