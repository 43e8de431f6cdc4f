// The loop of the worker's owner thread. It waits on epoll for descriptors, timers and work that
// other threads post.
#ifndef HPC_WORKER_LOOP_EVENT_LOOP_H_
#define HPC_WORKER_LOOP_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/process/bell.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// All methods except Post and Stop are for the loop's own thread only.
class EventLoop {
 public:
  using Callback = std::function<void(uint32_t events)>;  // EPOLLIN, EPOLLOUT, EPOLLHUP ...
  using TimerId = uint64_t;

  explicit EventLoop(const Clock* clock);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls `callback` whenever one of `events` holds for `fd` (level triggered), until Remove. The
  // loop does not own the descriptor; Remove it before closing it.
  void Add(int fd, uint32_t events, Callback callback);
  void Modify(int fd, uint32_t events);
  // May be called within any callback, also that of `fd` itself. After this nothing is called for
  // `fd`.
  void Remove(int fd);

  // Calls `callback` once, at or after `when`. An id is never reused; cancelling a timer that has
  // fired does nothing.
  TimerId At(MonoTime when, std::function<void()> callback);
  void Cancel(TimerId timer);

  // May be called from any thread. Runs `work` on the loop, in the order of the calls.
  void Post(std::function<void()> work);

  // `callback` is called after each round of callbacks, before the loop sleeps. It can handle as
  // one batch what the round has brought.
  void SetAfterRound(std::function<void()> callback) { after_round_ = std::move(callback); }

  // Runs until Stop.
  void Run();
  // Runs one round: waits at most `timeout` for something to do, and does it. For tests and
  // shutdown.
  void RunOnce(absl::Duration timeout);
  // May be called from any thread, or from work that a signal handler posts.
  void Stop();

  const Clock& clock() const { return *clock_; }
  // When the wait before that of this round began: what this round brought is not older. The wait
  // of this round may have begun later than that, if the process stood still between the two.
  MonoTime looked_at() const { return looked_at_; }

 private:
  struct Watch {
    uint64_t serial;
    Callback callback;
  };
  int WaitMilliseconds(absl::Duration limit) const;
  void FireTimers();
  void RunPosted();

  const Clock* clock_;
  MonoTime waited_since_{};  // when the wait of this round began
  MonoTime looked_at_{};
  UniqueFd epoll_;
  Bell wake_;
  bool stop_ = false;
  uint64_t next_serial_ = 1;
  TimerId next_timer_ = 1;
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;
  std::map<std::pair<absl::Duration, TimerId>, std::function<void()>> timers_;
  std::unordered_map<TimerId, absl::Duration> timer_times_;
  std::function<void()> after_round_;
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_LOOP_EVENT_LOOP_H_
