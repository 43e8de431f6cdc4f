// How long a worker that was killed, or closed its connection without a good-bye, is waited for.
#ifndef HPC_COORDINATOR_CORE_POLICY_RECONNECT_GRACE_H_
#define HPC_COORDINATOR_CORE_POLICY_RECONNECT_GRACE_H_

#include <algorithm>

#include "absl/time/time.h"
#include "coordinator/core/values/cluster_options.h"

namespace hpc::coordinator {

// A worker is waited for only this long if other nodes can take over at once (acts/spares_ready.h).
// One that systemd starts again is back sooner.
inline constexpr absl::Duration kSpareGrace = absl::Milliseconds(500);

// `hands_over`: it has said that another worker follows it. `spares_ready`: all that runs there
// could go on at once without it. The lease ends the wait if that is shorter.
inline absl::Duration ReconnectGrace(const ClusterOptions& options, bool hands_over,
                                     bool spares_ready) {
  const bool short_wait = spares_ready && !hands_over;
  return short_wait ? std::min(options.reconnect_grace, kSpareGrace) : options.reconnect_grace;
}

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_RECONNECT_GRACE_H_
