// A read of the store that a source waits for.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_PENDING_READ_H_
#define HPC_COORDINATOR_RPC_ANSWERS_PENDING_READ_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/runtime/engine.h"

namespace hpc::coordinator {

// One read at a time. It may be destroyed while a read is under way.
template <typename T>
class PendingRead {
 public:
  // Begins Engine::Read with `query`. `wake` is called when there is a result to take. Must be
  // idle.
  template <typename Query>
  void Start(Engine* engine, Query query, std::function<void()> wake) {
    under_way_ = true;
    engine->Read(std::move(query), [this, alive = std::weak_ptr<bool>(alive_),
                                    wake = std::move(wake)](absl::StatusOr<T> result) {
      if (alive.expired()) return;
      under_way_ = false;
      result_ = std::move(result);
      wake();
    });
  }

  bool idle() const { return !under_way_ && !result_; }
  bool ready() const { return result_.has_value(); }
  // Takes the result, which must be there. Then it is idle.
  absl::StatusOr<T> Take() { return *std::exchange(result_, std::nullopt); }

 private:
  bool under_way_ = false;
  std::optional<absl::StatusOr<T>> result_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_PENDING_READ_H_
