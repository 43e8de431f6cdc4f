// A node's right to be counted alive, judged on the coordinator's own clock.
#ifndef HPC_COORDINATOR_CORE_STATE_LEASE_H_
#define HPC_COORDINATOR_CORE_STATE_LEASE_H_

#include <algorithm>
#include <optional>

#include "absl/time/time.h"
#include "common/clock.h"

namespace hpc::coordinator {

// Nodes may take this long to connect again to a coordinator that has restarted: they spread their
// attempts randomly over time.
constexpr absl::Duration kReconnectAllowance = absl::Seconds(5);

class Lease {
 public:
  // A node that is silent for `length` is lost.
  explicit Lease(absl::Duration length) : length_(length) {}

  void Renew(MonoTime now) {
    heard_ = due_ = now;
    deadline_ = now + length_;
    looked_again_ = false;
    reset_grace_.reset();
  }
  // The connection was reset. That proves that the node's worker is gone, but a restarted worker is
  // back in a moment. So the node is lost after `grace`, or after the rest of the lease if that is
  // shorter.
  void Reset(MonoTime now, absl::Duration grace) {
    if (now + grace >= deadline_) return;
    deadline_ = now + grace;
    reset_grace_ = grace;
  }
  // Gives the node more time to reconnect than it had been given at first.
  void ProlongReset(absl::Duration grace) {
    deadline_ = std::min(heard_ + length_, deadline_ - *reset_grace_ + grace);
    reset_grace_ = grace;
  }
  // For a node that has not been heard since this process began: gives it `allowance` to connect.
  void Grant(MonoTime now, absl::Duration allowance) {
    Renew(now + allowance);
    heard_ = now;
  }

  // Gives `span` more, once until the node is heard again; returns whether it did. This is for a
  // coordinator that finds the deadline passed for a while: it stood still, and what the node said
  // meanwhile is still to be read.
  bool LookAgain(MonoTime now, absl::Duration span) {
    if (looked_again_) return false;
    looked_again_ = true;
    deadline_ = now + span;
    return true;
  }

  MonoTime heard() const { return heard_; }
  // From this time on silence counts: when the node was last heard, or when it should have
  // connected.
  MonoTime due() const { return due_; }
  MonoTime deadline() const { return deadline_; }
  // How long the node was given to reconnect. Set only while the deadline is one of reconnecting.
  const std::optional<absl::Duration>& reset_grace() const { return reset_grace_; }

 private:
  absl::Duration length_;
  MonoTime heard_{}, due_{}, deadline_{};
  std::optional<absl::Duration> reset_grace_;
  bool looked_again_ = false;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_LEASE_H_
