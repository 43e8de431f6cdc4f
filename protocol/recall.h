// How another node of a gang ends the ranks of a node whose worker is gone (Recall and Recalled in
// proto/hpc/v1/worker.proto, without protobuf).
#ifndef HPC_PROTOCOL_RECALL_H_
#define HPC_PROTOCOL_RECALL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/ids.h"

namespace hpc::protocol {

struct RecallAccess {
  int32_t port = 0;  // 0: it cannot
  std::string key, proof;
};

// The worker of `node` is gone: ask the supervisor there to end the attempt's ranks. The answer is
// Recalled.
struct Recall {
  AttemptRef ref;
  std::string node;
  std::string address;
  RecallAccess access;
  absl::Duration grace;
};

struct Recalled {
  AttemptRef ref;
  std::string node;
  absl::Status status;  // OK: nothing of the attempt is left there
};

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_RECALL_H_
