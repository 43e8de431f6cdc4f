// How ranks find out which of them is missing: each has a small server, off the path of training,
// that others ask when a collective has failed. Nothing is sent while all goes well.
//
// Every rank keeps what it entered last. The first that fails asks all others, judges (verdict.h),
// and tells all that live, so that they end at once instead of at their own deadline, with one and
// the same verdict. A rank that hangs in its own code still answers, since its server is a thread
// of its own; one that is stopped or dead is known by not answering.
//
// Any two ranks also keep a connection open, which the kernel closes when the process of either
// ends: Gloo does not always notice. Whose has not come is looked for.
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

// How long others have to answer, and so how much longer than its deadline a failure may take.
inline constexpr std::chrono::milliseconds kAnswerTime{2000};

// What others may still need to complete what an ended rank took part in.
inline constexpr std::chrono::milliseconds kEndGrace{500};

// All methods from any thread.
class RankWatch {
 public:
  // Listens at a port of `address` (an IP literal of this PC) that the kernel chooses. Verdicts
  // name ranks by `numbers`, where there are any. Throws std::system_error.
  RankWatch(int rank, const std::string& address, std::vector<int> numbers = {});
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  // Where the others reach it: "10.0.0.3:41234".
  const std::string& endpoint() const { return endpoint_; }

  // Answers from now on. `endpoints` are those of all ranks, in their order; `secret` is one word
  // that all of them share. `on_verdict` is called once, in a thread of the watch or in that of
  // Investigate or Declare, as soon as there is a verdict; it must not wait for either.
  void Start(std::vector<std::string> endpoints, std::string secret,
             std::function<void()> on_verdict);

  // This rank enters `collective`. Cheap: nothing leaves the process.
  void Enter(Collective collective);

  // After a collective failed: the verdict that there is, or one that is found by asking, which
  // takes at most twice kAnswerTime. All others have been told it, or do not answer.
  Verdict Investigate(const Failure& failure);

  // Makes `verdict` everybody's, unless there is one already.
  void Declare(Verdict verdict);

  std::optional<Verdict> verdict() const;

  // Ranks whose connection closed without a bye, in the order in which they went; those too that
  // went after the verdict.
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
  std::string endpoint_;  // before listener_, which sets it
  UniqueFd listener_;
  Bell stop_;
  std::vector<std::string> endpoints_;
  std::string secret_;
  std::function<void()> on_verdict_;
  std::thread server_;

  // Of the server's thread.
  struct Staying {
    int rank;
    UniqueFd connection;
  };
  std::vector<Staying> staying_;
  struct Asking {
    UniqueFd connection;
    std::chrono::steady_clock::time_point until;
  };
  std::vector<Asking> asking_;  // connected, and have not said anything yet
  std::vector<int> absent_;     // have not been connected yet
  std::vector<int> ended_;      // without a bye
  std::chrono::steady_clock::time_point ended_at_;

  std::mutex investigation_;  // one at a time; taken before mutex_
  mutable std::mutex mutex_;
  Collective entered_;
  std::chrono::steady_clock::time_point entered_at_;
  std::optional<Verdict> verdict_;
  std::vector<int> gone_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_RANK_WATCH_H_
