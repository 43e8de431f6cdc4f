#include "worker/loop/event_loop.h"

#include <errno.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace hpc::worker {

EventLoop::EventLoop(const Clock* clock) : clock_(clock), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  // Without descriptors at the start, nothing sensible can follow.
  if (!epoll_.ok() || !wake_.ok()) abort();
  Add(wake_.fd(), EPOLLIN, [this](uint32_t) { wake_.Silence(); });
}

EventLoop::~EventLoop() = default;

void EventLoop::Add(int fd, uint32_t events, Callback callback) {
  auto watch = std::make_shared<Watch>(Watch{next_serial_++, std::move(callback)});
  watches_[fd] = watch;
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void EventLoop::Modify(int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::Remove(int fd) {
  if (watches_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

EventLoop::TimerId EventLoop::At(MonoTime when, std::function<void()> callback) {
  const TimerId id = next_timer_++;
  timers_.emplace(std::make_pair(when.since_zero, id), std::move(callback));
  timer_times_.emplace(id, when.since_zero);
  return id;
}

void EventLoop::Cancel(TimerId timer) {
  auto it = timer_times_.find(timer);
  if (it == timer_times_.end()) return;
  timers_.erase({it->second, timer});
  timer_times_.erase(it);
}

void EventLoop::Post(std::function<void()> work) {
  {
    std::lock_guard<std::mutex> lock(posted_mutex_);
    posted_.push_back(std::move(work));
    // If something was there already, it has woken the loop.
    if (posted_.size() > 1) return;
  }
  wake_.Ring();
}

void EventLoop::Stop() {
  Post([this] { stop_ = true; });
}

int EventLoop::WaitMilliseconds(absl::Duration limit) const {
  absl::Duration wait = limit;
  if (!timers_.empty()) {
    wait = std::min(wait, timers_.begin()->first.first - clock_->Get().mono.since_zero);
  }
  if (wait == absl::InfiniteDuration()) return -1;
  // Rounded up, since waking a moment too early would only mean another empty round.
  return static_cast<int>(std::clamp<int64_t>(
      absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1))), 0, 60'000));
}

void EventLoop::FireTimers() {
  const absl::Duration now = clock_->Get().mono.since_zero;
  // Timers that these callbacks set fire in the next round, so a timer cannot starve descriptors.
  const TimerId limit = next_timer_;
  while (!timers_.empty() && timers_.begin()->first.first <= now &&
         timers_.begin()->first.second < limit) {
    auto callback = std::move(timers_.begin()->second);
    timer_times_.erase(timers_.begin()->first.second);
    timers_.erase(timers_.begin());
    callback();
  }
}

void EventLoop::RunPosted() {
  std::vector<std::function<void()>> work;
  {
    std::lock_guard<std::mutex> lock(posted_mutex_);
    work.swap(posted_);
  }
  for (auto& one : work) one();
}

void EventLoop::RunOnce(absl::Duration timeout) {
  std::array<epoll_event, 64> events;
  const MonoTime now = clock_->Get().mono;
  looked_at_ = std::exchange(waited_since_, now);
  const int n = epoll_wait(epoll_.get(), events.data(), events.size(), WaitMilliseconds(timeout));
  // A callback may remove a descriptor, and in the same round another one may be opened under its
  // number. So only watches that existed when the round began are called.
  const uint64_t serial_limit = next_serial_;
  for (int i = 0; i < n; ++i) {
    auto it = watches_.find(events[i].data.fd);
    if (it == watches_.end() || it->second->serial >= serial_limit) continue;
    const std::shared_ptr<Watch> watch = it->second;
    watch->callback(events[i].events);
  }
  FireTimers();
  RunPosted();
  if (after_round_) after_round_();
}

void EventLoop::Run() {
  stop_ = false;
  while (!stop_) RunOnce(absl::InfiniteDuration());
}

}  // namespace hpc::worker
