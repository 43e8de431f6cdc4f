// Finds out which rank of a group is missing. Each rank has a small server, off the path of
// training, which others ask when a collective has failed. Nothing is sent while all goes well.
//
// Every rank keeps what it entered last. The first that fails asks all others, judges (verdict.h),
// and tells all that live, so that they end at once instead of at their own deadline, with one and
// the same verdict. A rank that hangs in its own code still answers, since its server is a thread
// of its own; one that is stopped or dead is known by not answering.
//
// Any two ranks also keep a connection open, which the kernel closes when the process of either
// ends. Gloo does not always notice such an end. Ranks that have not connected are looked for.
#ifndef HPC_TRAIN_GROUP_RANK_WATCH_H_
#define HPC_TRAIN_GROUP_RANK_WATCH_H_

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/process/bell.h"
#include "common/unique_fd.h"
#include "train/group/verdict.h"

namespace hpc::train {

// How long others have to answer. A failure may take so much longer than its deadline.
inline constexpr std::chrono::milliseconds kAnswerTime{2000};

// How long others may still need to complete an operation that an ended rank took part in.
inline constexpr std::chrono::milliseconds kEndGrace{500};

// All methods may be called from any thread.
class RankWatch {
 public:
  // Listens on a port of `address` (an IP literal of this PC) that the kernel chooses. Verdicts
  // name ranks by `numbers`, if there are any. Throws std::system_error.
  RankWatch(int rank, const std::string& address, std::vector<int> numbers = {});
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  // Returns where the others reach this rank: "10.0.0.3:41234".
  const std::string& endpoint() const { return endpoint_; }

  // Answers from now on. `endpoints` are those of all ranks, in their order. `secret` is one word
  // that all of them share. `on_verdict` is called once, as soon as there is a verdict, in a thread
  // of the watch or in the caller's of Investigate or Declare. It must not wait for either of these
  // two.
  void Start(std::vector<std::string> endpoints, std::string secret,
             std::function<void()> on_verdict);

  // Notes that this rank enters `collective`. It is cheap: nothing leaves the process.
  void Enter(Collective collective);

  // Must be called after a collective failed. Returns the verdict that there is, or finds one by
  // asking, which takes at most twice kAnswerTime. All other ranks have been told it then, or do
  // not answer.
  Verdict Investigate(const Failure& failure);

  // Makes `verdict` that of all ranks, unless there is one already.
  void Declare(Verdict verdict);

  std::optional<Verdict> verdict() const;

  // Returns the ranks whose connection closed without a bye, in the order in which they went. Ranks
  // that went after the verdict are included.
  std::vector<int> Gone() const;

 private:
  void Serve();
  void Answer(UniqueFd connection);
  void ConnectToLowerRanks();
  void StayWith(int rank, UniqueFd connection);
  void Stays(int rank, UniqueFd connection);
  void LookForAbsent();
  void HasEnded(int rank);
  void OnStayingReadable(size_t index);
  void OnAskingReadable(size_t index);
  void LetIn(UniqueFd connection);
  void DeclareEnded();
  bool Keep(Verdict verdict);
  RankStatus Status() const;
  int NumberOf(int rank) const { return numbers_.empty() ? rank : numbers_[rank]; }
  std::vector<RankAnswer> AskAll() const;
  RankAnswer Ask(int rank) const;
  void TellAll(const Verdict& verdict) const;

  const int rank_;
  const std::vector<int> numbers_;
  std::string endpoint_;  // declared before listener_, which sets it
  UniqueFd listener_;
  Bell stop_;
  std::vector<std::string> endpoints_;
  std::string secret_;
  std::function<void()> on_verdict_;
  std::thread server_;

  // Belongs to the server's thread, like the members below.
  struct Staying {
    int rank;
    UniqueFd connection;
  };
  std::vector<Staying> staying_;
  struct Asking {
    UniqueFd connection;
    std::chrono::steady_clock::time_point until;
  };
  std::vector<Asking> asking_;  // are connected, and have not said anything yet
  std::vector<int> absent_;     // have not connected yet
  std::vector<int> ended_;      // went without a bye
  std::chrono::steady_clock::time_point ended_at_;

  std::mutex investigation_;  // allows one at a time; is taken before mutex_
  mutable std::mutex mutex_;
  Collective entered_;
  std::chrono::steady_clock::time_point entered_at_;
  std::optional<Verdict> verdict_;
  std::vector<int> gone_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_RANK_WATCH_H_
