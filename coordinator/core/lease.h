// A node's right to be counted alive, judged on the coordinator's own clock.
#ifndef HPC_COORDINATOR_CORE_LEASE_H_
#define HPC_COORDINATOR_CORE_LEASE_H_

#include "absl/time/time.h"
#include "common/clock.h"

namespace hpc::coordinator {

// How long nodes may take to connect again to a coordinator that has restarted: they do so with
// jitter.
constexpr absl::Duration kReconnectAllowance = absl::Seconds(5);

class Lease {
 public:
  // `length`: silence after which a node is lost. `reconnect_grace`: the same once its connection
  // was reset, which proves that its worker is gone, yet a restarted worker is back in a moment;
  // never more than what is left of the lease.
  Lease(absl::Duration length, absl::Duration reconnect_grace)
      : length_(length), reconnect_grace_(reconnect_grace) {}

  void Renew(MonoTime now) { Grant(now, length_); }
  void Reset(MonoTime now) {
    if (now + reconnect_grace_ >= deadline_) return;
    deadline_ = now + reconnect_grace_;
    was_reset_ = true;
  }
  // For a node that has not been heard since this process began.
  void Grant(MonoTime now, absl::Duration length) {
    heard_ = now;
    deadline_ = now + length;
    was_reset_ = false;
  }

  MonoTime heard() const { return heard_; }
  MonoTime deadline() const { return deadline_; }
  // The deadline is one of reconnecting.
  bool was_reset() const { return was_reset_; }

 private:
  absl::Duration length_, reconnect_grace_;
  MonoTime heard_{}, deadline_{};
  bool was_reset_ = false;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_LEASE_H_
