// How a connection begins.
#ifndef HPC_PROTOCOL_HELLO_H_
#define HPC_PROTOCOL_HELLO_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "protocol/held_attempt.h"

namespace hpc::protocol {

// What a worker says first.
struct Hello {
  bool resumed = false;
  bool owner_changed = false;  // it changed on the PC, and the coordinator has not heard of that
  bool reclaimed = false;
  std::optional<absl::Duration> reclaim_left;
  std::string reclaim_reason;
  std::vector<HeldAttempt> attempts;
};

// The answer to a hello that was accepted.
struct Welcome {
  absl::Duration lease = absl::Seconds(6);
  absl::Duration heartbeat_interval = absl::Seconds(2);
  absl::Duration stop_after_disconnect = absl::Minutes(5);
  // Ranks of a witnessed attempt may live for these times: `contact_limit` after the coordinator is
  // known to have heard their node, and `vouch_limit` after the nodes of the attempt last vouched
  // for one another.
  absl::Duration contact_limit = absl::Seconds(5);
  absl::Duration vouch_limit = absl::Seconds(2);
};

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_HELLO_H_
