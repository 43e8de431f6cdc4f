// How a connection begins: Hello and Welcome in proto/hpc/v1/worker.proto, without protobuf.
#ifndef HPC_PROTOCOL_HELLO_H_
#define HPC_PROTOCOL_HELLO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "protocol/held_attempt.h"
#include "protocol/inventory.h"

namespace hpc::protocol {

// What a worker says first. Its core says what it holds and what its owner wants; its shell adds
// who it is and what the PC has.
struct Hello {
  std::string node;
  uint64_t incarnation = 0;  // random, new with each start of the worker
  std::string boot_id;
  bool resumed = false;  // it woke from suspend since it was last connected
  std::string address;
  bool can_vouch = false;  // it knows how to vouch for attempts
  Inventory inventory;
  bool reclaimed = false;  // its owner's wish as the worker knows it
  bool owner_changed =
      false;  // the wish changed on the PC, and the coordinator has not heard of it
  std::optional<absl::Duration> reclaim_left;  // unset: until lent
  std::string reclaim_reason;
  // What its clock showed when it said this; unset: it does not say its time.
  std::optional<absl::Duration> said;
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
