// A node's right to be counted alive, judged on the coordinator's own clock.
#ifndef HPC_COORDINATOR_CORE_STATE_LEASE_H_
#define HPC_COORDINATOR_CORE_STATE_LEASE_H_

#include <algorithm>
#include <optional>

#include "absl/time/time.h"
#include "common/clock.h"

namespace hpc::coordinator {

// How long nodes may take to connect again to a coordinator that has restarted: they do so with
// jitter.
constexpr absl::Duration kReconnectAllowance = absl::Seconds(5);

class Lease {
 public:
  // `length`: silence after which a node is lost.
  explicit Lease(absl::Duration length) : length_(length) {}

  void Renew(MonoTime now) {
    heard_ = due_ = now;
    deadline_ = now + length_;
    reset_grace_.reset();
  }
  // Its connection was reset, which proves that its worker is gone, yet a restarted worker is back
  // in a moment: it is lost after `grace`, or what is left of the lease if that is shorter.
  void Reset(MonoTime now, absl::Duration grace) {
    if (now + grace >= deadline_) return;
    deadline_ = now + grace;
    reset_grace_ = grace;
  }
  // It was given less time to reconnect than it may have after all.
  void ProlongReset(absl::Duration grace) {
    deadline_ = std::min(heard_ + length_, deadline_ - *reset_grace_ + grace);
    reset_grace_ = grace;
  }
  // For a node that has not been heard since this process began: it has `allowance` to connect.
  void Grant(MonoTime now, absl::Duration allowance) {
    Renew(now + allowance);
    heard_ = now;
  }

  MonoTime heard() const { return heard_; }
  // From when on its silence means something: when it was heard last, or has to have connected.
  MonoTime due() const { return due_; }
  MonoTime deadline() const { return deadline_; }
  // Set where the deadline is one of reconnecting: how long it was given.
  const std::optional<absl::Duration>& reset_grace() const { return reset_grace_; }

 private:
  absl::Duration length_;
  MonoTime heard_{}, due_{}, deadline_{};
  std::optional<absl::Duration> reset_grace_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_LEASE_H_
