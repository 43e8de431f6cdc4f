// Why ranks of an attempt ended on a node without the coordinator's order: Halt in
// proto/hpc/v1/worker.proto, without protobuf.
#ifndef HPC_PROTOCOL_HALT_H_
#define HPC_PROTOCOL_HALT_H_

#include <string>

#include "absl/time/time.h"

namespace hpc::protocol {

enum class HaltKind {
  kNone = 0,
  kOwner = 1,           // the owner took the PC back; he may have lent it again since
  kCutOff = 2,          // no contact for too long, or the worker was frozen
  kSupervisorLost = 3,  // the supervisor was killed, and its ranks with it
  kLeaving = 4,         // the PC or its worker was going down
  kDamaged = 5,         // the worker's records of the attempt contradict each other
};

struct Halt {
  HaltKind kind = HaltKind::kNone;
  std::string reason;          // in words
  absl::Duration ago = {};     // how long before it was told
  absl::Duration within = {};  // it may have happened up to this much earlier

  bool operator==(const Halt&) const = default;
};

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_HALT_H_
