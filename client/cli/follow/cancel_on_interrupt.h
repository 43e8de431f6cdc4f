// The meaning of Ctrl-C (and SIGTERM) for a command that stays with a run. The first one cancels
// the run and waits for it to end. The second one leaves it, once the cancel has been heard or the
// coordinator is away. Output that nobody reads does not hold the command up: after the first one
// it is waited for a little, after the second one not at all.
#ifndef HPC_CLIENT_CLI_FOLLOW_CANCEL_ON_INTERRUPT_H_
#define HPC_CLIENT_CLI_FOLLOW_CANCEL_ON_INTERRUPT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/api.h"
#include "client/cli/follow/interrupts.h"
#include "client/cli/session.h"

namespace hpc::client {

class CancelOnInterrupt {
 public:
  // Must be called before any other thread is made. Until there is a client, a signal ends the
  // process.
  explicit CancelOnInterrupt(Session* session);
  ~CancelOnInterrupt();

  void SetClient(Client* client);
  // Before this call one signal is enough to leave, if no run is set within two seconds after it.
  void SetRun(int64_t run);
  // Returns whether the coordinator knows that the run is to end.
  bool asked() const { return asked_; }

 private:
  void OnSignal(int count, int signal);
  void TellRefusal(int64_t run, const absl::Status& answer);
  void Leave() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool KnownOrOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return run_ != 0 || over_; }

  Session* const session_;
  absl::Mutex mutex_;
  Client* client_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int64_t run_ ABSL_GUARDED_BY(mutex_) = 0;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> asked_ = false;
  absl::Notification answered_;  // the coordinator has answered the cancel
  // Makes the call, which may wait for the coordinator to come back while the next signal must be
  // heard.
  std::thread canceller_;
  std::unique_ptr<Interrupts> interrupts_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_CANCEL_ON_INTERRUPT_H_
