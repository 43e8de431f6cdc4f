// The ranks of one attempt on this PC, as their supervisor tells of them: which have started, which
// have ended, and how.
#ifndef HPC_WORKER_ATTEMPTS_RANK_WATCH_H_
#define HPC_WORKER_ATTEMPTS_RANK_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "protocol/rank_exit.h"
#include "worker/loop/event_loop.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

class RankWatch {
 public:
  using OnExit =
      std::function<void(int32_t rank, const protocol::RankExit& exit, protocol::RankAges ago)>;

  // `dir`: where the ranks write their output and error files. `on_exit` is called once for each
  // rank that has ended, with its last words if it failed.
  RankWatch(EventLoop* loop, std::string dir, OnExit on_exit);
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  void Started(const RankStarted& event) { started_[event.rank] = event; }
  // The supervisor looked then: all ranks that it has not reported as ended were alive.
  void Looked(int64_t at_ns) { looked_ns_ = at_ns; }
  // The rank was catching SIGTERM. To be told before its end.
  void CaughtSigterm(int32_t rank) { catches_sigterm_.insert(rank); }
  // A failure is told a moment later, because the rank's last words may still be on their way to
  // its file.
  void Exited(const RankExited& event);
  // The rank's stderr has ended, so its last words are there.
  void WordsEnded(int32_t rank) { Tell(rank); }
  // Tells what still waits for last words.
  void TellAll();

  // Every rank that was started, also if it has ended.
  std::vector<RankStarted> started() const;
  // Those that run.
  std::vector<RankStarted> running() const;

 private:
  struct Pending {
    protocol::RankExit exit;
    int64_t at_ns = 0;
    int64_t within_ns = 0;  // it may have ended so much before at_ns
    EventLoop::TimerId timer = 0;
  };
  void Tell(int32_t rank);

  EventLoop* const loop_;
  const std::string dir_;
  const OnExit on_exit_;
  std::map<int32_t, RankStarted> started_;  // by rank
  std::map<int32_t, Pending> pending_;
  std::set<int32_t> ended_, catches_sigterm_;
  int64_t looked_ns_ = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_RANK_WATCH_H_
