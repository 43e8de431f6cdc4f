// The supervisor's event loop. It waits for descriptors on epoll and for one deadline on
// CLOCK_BOOTTIME, which goes on while the machine sleeps.
#ifndef HPC_WORKER_SUPERVISOR_OS_POLLER_H_
#define HPC_WORKER_SUPERVISOR_OS_POLLER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <unordered_map>

#include "common/unique_fd.h"

namespace hpc::worker {

class Poller {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  Poller();
  bool ok() const { return epoll_.ok() && timer_.ok(); }

  // Calls `callback` while `fd` is readable or hung up (level triggered) and, after Modify, also
  // while it is writable. Descriptors must not block: a callback may come without need.
  void Add(int fd, std::function<void()> callback);
  // The same, but calls it once, and once more after each Rearm.
  void AddOnce(int fd, std::function<void()> callback);
  void Rearm(int fd);
  void Modify(int fd, bool readable, bool writable);
  // Must be called before `fd` is closed.
  void Remove(int fd);

  // Removes all of them: nothing is called any more.
  void Clear();

  // Runs one round: waits until something happens or until `deadline_ns`.
  void Wait(int64_t deadline_ns);

 private:
  void Add(int fd, uint32_t events, std::function<void()> callback);
  void WatchTimer();
  void ArmTimer(int64_t deadline_ns);

  UniqueFd epoll_;
  UniqueFd timer_;
  int64_t armed_ns_ = kNever;
  std::unordered_map<int, std::shared_ptr<std::function<void()>>> callbacks_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_POLLER_H_
