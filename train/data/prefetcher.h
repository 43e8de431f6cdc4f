// Makes things in threads of its own before they are asked for, and hands them out in their order.
#ifndef HPC_TRAIN_DATA_PREFETCHER_H_
#define HPC_TRAIN_DATA_PREFETCHER_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace hpc::train {

struct PrefetchOptions {
  int workers = 1;  // how many threads; 0: each thing is made when it is asked for
  int ahead = 4;    // how many things are made, or being made, before they are asked for
  // The clock: steady_clock, unless a test brings another.
  std::function<std::chrono::nanoseconds()> now = [] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
  };
};

// Next must be called from one thread.
template <typename T>
class Prefetcher {
 public:
  // Makes the things 0 to count - 1. `make` is called at most once for each, in threads of its own,
  // several at the same time. What it throws comes out of Next in place of that thing. Throws
  // std::runtime_error where the system has no more threads.
  Prefetcher(int64_t count, std::function<T(int64_t)> make, PrefetchOptions options)
      : count_(count), make_(std::move(make)), options_(std::move(options)) {
    options_.ahead = std::max(options_.ahead, 1);
    try {
      for (int i = 0; i < options_.workers; ++i) threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error& error) {
      End();
      throw std::runtime_error(
          "only " + std::to_string(threads_.size()) + " of " + std::to_string(options_.workers) +
          " threads that load data could be made (" + error.what() + "): take fewer (--workers)");
    }
  }

  // Waits for what is being made.
  ~Prefetcher() { End(); }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Returns the next thing; none after the last.
  std::optional<T> Next() {
    if (given_ == count_) return std::nullopt;
    const std::chrono::nanoseconds begin = options_.now();
    Made made;
    if (threads_.empty()) {
      made = Make(given_++);
    } else {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return made_.count(given_) != 0; });
      made = std::move(made_.extract(given_++).mapped());
    }
    changed_.notify_all();
    waited_ += options_.now() - begin;
    if (made.error) std::rethrow_exception(made.error);
    return std::move(made.thing);
  }

  // Returns how long all calls of Next together have taken by now.
  std::chrono::nanoseconds waited() const { return waited_; }

 private:
  void End() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  struct Made {
    std::optional<T> thing;
    std::exception_ptr error;
  };

  Made Make(int64_t index) {
    Made made;
    try {
      made.thing = make_(index);
    } catch (...) {
      made.error = std::current_exception();
    }
    return made;
  }

  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock,
                    [&] { return ended_ || begun_ == count_ || begun_ < given_ + options_.ahead; });
      if (ended_ || begun_ == count_) return;
      const int64_t index = begun_++;
      lock.unlock();
      Made made = Make(index);
      lock.lock();
      made_.emplace(index, std::move(made));
      changed_.notify_all();
    }
  }

  const int64_t count_;
  const std::function<T(int64_t)> make_;
  PrefetchOptions options_;
  std::chrono::nanoseconds waited_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, Made> made_;
  int64_t begun_ = 0, given_ = 0;
  bool ended_ = false;
  std::vector<std::thread> threads_;  // the last member, since the threads use the others
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_PREFETCHER_H_
