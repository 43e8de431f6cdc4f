// What a supervisor is given so that other nodes of the gang can end its ranks when this worker is
// gone (worker/supervisor/protocol/recall.h).
#ifndef HPC_WORKER_ATTEMPTS_PEERS_RECALL_PORT_H_
#define HPC_WORKER_ATTEMPTS_PEERS_RECALL_PORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "protocol/recall.h"

namespace hpc::worker {

struct RecallPort {
  UniqueFd socket;  // bound, not listening
  protocol::RecallAccess access;
};

// Opens any free port of the address. Unavailable: the address cannot be bound here.
absl::StatusOr<RecallPort> OpenRecallPort(const std::string& address);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_PEERS_RECALL_PORT_H_
