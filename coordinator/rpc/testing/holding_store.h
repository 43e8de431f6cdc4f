// A store that makes whoever reads metrics wait, as a slow disk would, for as long as a test wants.
// Tests only.
#ifndef HPC_COORDINATOR_RPC_TESTING_HOLDING_STORE_H_
#define HPC_COORDINATOR_RPC_TESTING_HOLDING_STORE_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/store/store.h"
#include "coordinator/store/store_reader.h"
#include "coordinator/store/testing/forwarding_store.h"

namespace hpc::coordinator::testing {

// Where readers of metrics wait. Any thread may call it.
class Barrier {
 public:
  void Close();
  void Open();
  // Waits while it is closed.
  void Pass();
  // Waits until somebody waits in Pass.
  void AwaitSomebody();

 private:
  bool IsOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !closed_; }
  bool IsAwaited() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return waiting_ > 0; }

  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

class HoldingStore final : public ForwardingStore {
 public:
  explicit HoldingStore(std::unique_ptr<Store> real)
      : ForwardingStore(real.get()), owned_(std::move(real)) {}

  // Every reader passes it before it reads metrics.
  Barrier& metrics_barrier() { return barrier_; }

  absl::StatusOr<std::unique_ptr<StoreReader>> OpenReader() override;

 private:
  const std::unique_ptr<Store> owned_;
  Barrier barrier_;
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_RPC_TESTING_HOLDING_STORE_H_
