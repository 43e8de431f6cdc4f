// A time limit for calls to the store.
//
// c10d's client waits for an answer for ever. If the server of the store is stopped, or is not a
// store at all, nobody would learn of it. So a thread cuts the connections of a call that takes too
// long, which ends the call with an error.
#ifndef HPC_TRAIN_NET_STORE_LIMIT_H_
#define HPC_TRAIN_NET_STORE_LIMIT_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace hpc::train {

class StoreLimit {
 public:
  // Limits calls to the store at `port`, whatever its address is.
  StoreLimit(int port, std::chrono::milliseconds limit);
  ~StoreLimit();
  StoreLimit(const StoreLimit&) = delete;
  StoreLimit& operator=(const StoreLimit&) = delete;

  // Stands for one call, as long as it lives. Only one may live at a time.
  class Call {
   public:
    explicit Call(StoreLimit& limit) : limit_(limit) { limit_.Begin(); }
    ~Call() { limit_.End(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    StoreLimit& limit_;
  };

 private:
  void Begin();
  void End();
  void Watch();

  const int port_;
  const std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::chrono::steady_clock::time_point> until_;  // the end of the call under way
  // The thread, until it is told of a call.
  bool asleep_ = false;
  bool stop_ = false;
  std::thread watch_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_NET_STORE_LIMIT_H_
