// A node's right to be counted alive, judged on the coordinator's own clock.
#ifndef HPC_COORDINATOR_CORE_LEASE_H_
#define HPC_COORDINATOR_CORE_LEASE_H_

#include <algorithm>

#include "absl/time/time.h"
#include "common/clock.h"

namespace hpc::coordinator {

class Lease {
 public:
  // `length`: silence after which a node is lost. `reconnect_grace`: the same once its connection
  // was reset, which proves that its worker is gone, yet a restarted worker is back in a moment.
  Lease(absl::Duration length, absl::Duration reconnect_grace)
      : length_(length), reconnect_grace_(reconnect_grace) {}

  void Renew(MonoTime now) {
    heard_ = now;
    deadline_ = now + length_;
  }
  void Reset(MonoTime now) { deadline_ = std::min(deadline_, now + reconnect_grace_); }
  // For a node that has not been heard since this process began.
  void Grant(MonoTime now, absl::Duration length) {
    heard_ = now;
    deadline_ = now + length;
  }

  MonoTime heard() const { return heard_; }
  MonoTime deadline() const { return deadline_; }

 private:
  absl::Duration length_, reconnect_grace_;
  MonoTime heard_{}, deadline_{};
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_LEASE_H_
