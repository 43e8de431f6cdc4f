// What is said to the coordinator. While a connection is being opened, messages wait here, so that
// the hello goes first.
#ifndef HPC_WORKER_RUNTIME_OUTBOX_H_
#define HPC_WORKER_RUNTIME_OUTBOX_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/worker_message.h"
#include "worker/link/link.h"
#include "worker/loop/boot_time.h"

namespace hpc::worker {

class Outbox {
 public:
  explicit Outbox(Link* link) : link_(link) {}

  void Send(const protocol::WorkerMessage& message) {
    waiting_ ? waiting_->push_back({message, BootTimeNs()}) : link_->Send(message, BootTimeNs());
  }
  // From now on messages wait. Returns the number of this opening.
  uint64_t Hold() {
    waiting_.emplace();
    return ++opening_;
  }
  // Whether that opening goes on: it has neither been released nor dropped.
  bool Holds(uint64_t opening) const { return waiting_ && opening == opening_; }
  // The hello has gone: sends what has waited.
  void Release() {
    const auto waiting = *std::exchange(waiting_, std::nullopt);
    for (const auto& [message, made_ns] : waiting) link_->Send(message, made_ns);
  }
  // The opening is given up, with what waited for it.
  void Drop() {
    waiting_.reset();
    ++opening_;
  }
  // Changes whenever an opening begins or is given up.
  uint64_t opening() const { return opening_; }

 private:
  Link* const link_;
  std::optional<std::vector<std::pair<protocol::WorkerMessage, int64_t>>> waiting_;
  uint64_t opening_ = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_OUTBOX_H_
