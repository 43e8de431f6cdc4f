// Where an attempt's ranks will meet: the store that this worker serves, or a port kept for rank 0.
#ifndef HPC_WORKER_ATTEMPTS_PEERS_STORE_PORT_H_
#define HPC_WORKER_ATTEMPTS_PEERS_STORE_PORT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/core/messages.h"
#include "worker/loop/event_loop.h"
#include "worker/rendezvous/store_server.h"
#include "worker/supervision/attempt_record.h"

namespace hpc::worker {

struct StorePort {
  std::string address;
  int port = 0;
  std::vector<std::string> allowed;     // addresses that may connect
  uint32_t account = 0;                 // and whose programs, where they are of this PC
  std::unique_ptr<StoreServer> server;  // null: rank 0 hosts
};

// For the node of rank 0, before any rank starts. Unavailable: the address cannot be bound here.
// `account`: the number of the one that the ranks run as.
absl::StatusOr<StorePort> OpenStorePort(EventLoop* loop, const Prepare& prepare, uint32_t account);

// What is remembered of a store that this worker serves, since it dies with the worker.
struct StoreRecord {
  std::string address;
  int port = 0;
  std::vector<std::string> allowed;
  uint32_t account = 0;
  int32_t world_size = 0;
  int32_t arrived = 0;  // ranks that have reached it
};
// Of a store that nobody has reached yet.
RecordLine ToRecordLine(const StoreRecord& record);
absl::Status AddArrivals(const std::string& attempt_dir, int32_t arrived);
// nullopt: this worker serves none for that attempt.
std::optional<StoreRecord> ReadStoreRecord(const std::string& attempt_dir);

// Whether it dies with the worker without ending its attempt: all ranks have met, and only one that
// makes another group would miss it.
bool WasUsedByAll(const StoreRecord& record);

// After a restart of the worker. No rank had reached the store: serves it again, at the same port.
// WasUsedByAll: null, they go on without it. Else FailedPrecondition: what the first ones
// said is gone, and the others would wait for it.
absl::StatusOr<std::unique_ptr<StoreServer>> ReopenStore(EventLoop* loop,
                                                         const StoreRecord& record);

// Only to answer keepalives there, where the store was lost.
absl::StatusOr<std::unique_ptr<StoreServer>> ReopenForKeepalives(EventLoop* loop,
                                                                 const StoreRecord& record);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_PEERS_STORE_PORT_H_
