#include "worker/supervisor/os/poller.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <utility>

namespace hpc::worker {

Poller::Poller()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (ok()) WatchTimer();
}

void Poller::WatchTimer() {
  Add(timer_.get(), [this] {
    uint64_t ignored;
    if (read(timer_.get(), &ignored, sizeof ignored) > 0) armed_ns_ = kNever;
  });
}

void Poller::Add(int fd, std::function<void()> callback) { Add(fd, EPOLLIN, std::move(callback)); }

void Poller::AddOnce(int fd, std::function<void()> callback) {
  Add(fd, EPOLLIN | EPOLLONESHOT, std::move(callback));
}

void Poller::Add(int fd, uint32_t events, std::function<void()> callback) {
  callbacks_[fd] = std::make_shared<std::function<void()>>(std::move(callback));
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Poller::Rearm(int fd) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Poller::Modify(int fd, bool readable, bool writable) {
  epoll_event event{};
  event.events = (readable ? uint32_t{EPOLLIN} : 0) | (writable ? uint32_t{EPOLLOUT} : 0);
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Poller::Remove(int fd) {
  if (callbacks_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Poller::Clear() {
  while (!callbacks_.empty()) Remove(callbacks_.begin()->first);
  WatchTimer();
}

void Poller::ArmTimer(int64_t deadline_ns) {
  if (deadline_ns == armed_ns_) return;
  armed_ns_ = deadline_ns;
  itimerspec when{};  // all zero disarms
  if (deadline_ns != kNever) {
    // A time that has already passed must not be read as zero.
    const int64_t at = deadline_ns > 0 ? deadline_ns : 1;
    when.it_value = {.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Poller::Wait(int64_t deadline_ns) {
  ArmTimer(deadline_ns);
  epoll_event events[32];
  const int n = epoll_wait(epoll_.get(), events, 32, -1);
  for (int i = 0; i < n; ++i) {
    const auto it = callbacks_.find(events[i].data.fd);
    if (it == callbacks_.end()) continue;
    // A copy is held, since the callback may remove itself.
    const auto callback = it->second;
    (*callback)();
  }
}

}  // namespace hpc::worker
