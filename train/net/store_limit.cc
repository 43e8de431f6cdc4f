#include "train/net/store_limit.h"

#include <algorithm>

#include "train/net/tcp_connections.h"

namespace hpc::train {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Calls are many and short, so the thread looks now and then instead of at each call.
constexpr std::chrono::milliseconds kLookAtLimit{200};

}  // namespace

StoreLimit::StoreLimit(int port, std::chrono::milliseconds limit)
    : port_(port), limit_(limit), watch_([this] { Watch(); }) {}

StoreLimit::~StoreLimit() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  watch_.join();
}

void StoreLimit::Begin() {
  std::lock_guard lock(mutex_);
  until_ = SteadyClock::now() + limit_;
  if (asleep_) changed_.notify_all();
}

void StoreLimit::End() {
  std::lock_guard lock(mutex_);
  until_.reset();
}

void StoreLimit::Watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!until_) {
      asleep_ = true;
      changed_.wait(lock, [&] { return stop_ || until_; });
      asleep_ = false;
      continue;
    }
    // It cuts again and again, because c10d connects anew after a cut.
    if (SteadyClock::now() >= *until_) CutConnectionsTo(port_);
    changed_.wait_for(lock, std::min(kLookAtLimit, std::max(limit_, std::chrono::milliseconds(1))),
                      [&] { return stop_; });
  }
}

}  // namespace hpc::train
