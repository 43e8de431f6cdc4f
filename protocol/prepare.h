// What a node needs to know before it can start its ranks of an attempt, and what it answers:
// Prepare and Prepared in proto/hpc/v1/worker.proto, without protobuf.
#ifndef HPC_PROTOCOL_PREPARE_H_
#define HPC_PROTOCOL_PREPARE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "protocol/launch.h"
#include "protocol/recall.h"

namespace hpc::protocol {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

// A node of an attempt.
struct Peer {
  std::string node;
  std::string address;
  int32_t first_rank = 0;
  int32_t ranks = 0;
};

// Check everything, take devices and start a supervisor; bind the store's port if this node hosts
// it. The answer is Prepared.
struct Prepare {
  AttemptRef ref;
  int32_t node_rank = 0;
  std::vector<int32_t> devices;
  int32_t first_rank = 0;
  int32_t ranks = 0;
  int32_t world_size = 0;
  std::vector<Peer> peers;  // by node rank, this node included
  LaunchMode mode = LaunchMode::kTorchrun;
  StoreHost store_host = StoreHost::kAuto;
  int32_t restart_count = 0;  // attempts of this run before this one
  int32_t max_restarts = 0;
  absl::Duration stop_grace = absl::Seconds(30);

  std::string run_name;
  std::string experiment;
  std::vector<std::string> command;
  std::string workdir;
  KeyValues env;
  LegacyLocalRank legacy_local_rank = LegacyLocalRank::kNone;
  StopSignal stop_signal = StopSignal::kAuto;
  int32_t umask = 022;
  WarmStart warm = WarmStart::kAuto;
  KeyValues params;
  std::string user;  // who submitted the run; "" if there are no identities
};

// Something in a folder for checkpoints.
struct FoundCheckpoint {
  std::string name;
  // Since its content changed last; of a folder, since a name in it did. By one clock of that node,
  // to which that may be a time to come.
  absl::Duration age = absl::ZeroDuration();
};

struct Prepared {
  AttemptRef ref;
  // Not OK: this node cannot run it; the message names what was asked and found.
  // NotFound, PermissionDenied, FailedPrecondition: restarting cannot help (a refusal).
  // Unavailable: another node may do (devices busy with something else, disk full).
  absl::Status status;
  std::string store_addr;  // only from the node that hosts the store
  int32_t store_port = 0;
  bool store_client_ok = true;  // false: its torch cannot be a client of the worker's store
  RecallAccess recall = {};
  // What this node has in the run's own HPC_CHECKPOINT_DIR if the run is started again: sorted
  // by name, kMostCheckpoints at most, without temporary files. None if the user has named another
  // folder.
  std::vector<FoundCheckpoint> checkpoints = {};
};

inline constexpr size_t kMostCheckpoints = 512;

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_PREPARE_H_
