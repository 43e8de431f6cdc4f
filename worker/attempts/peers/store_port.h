// Where an attempt's ranks will meet: at the store that this worker serves, or at a port that is
// kept free for rank 0.
#ifndef HPC_WORKER_ATTEMPTS_PEERS_STORE_PORT_H_
#define HPC_WORKER_ATTEMPTS_PEERS_STORE_PORT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protocol/prepare.h"
#include "worker/loop/event_loop.h"
#include "worker/rendezvous/store_server.h"
#include "worker/supervisor_client/attempt_record.h"

namespace hpc::worker {

struct StorePort {
  std::string address;
  int port = 0;
  std::vector<std::string> allowed;     // addresses that may connect
  uint32_t account = 0;                 // and whose programs, if they are on this PC
  std::unique_ptr<StoreServer> server;  // null: rank 0 hosts the store
};

// To be called on the node of rank 0, before any rank starts. `account` is the number of the
// account that the ranks run as. Unavailable: the address cannot be bound here.
absl::StatusOr<StorePort> OpenStorePort(EventLoop* loop, const protocol::Prepare& prepare,
                                        uint32_t account);

// What is recorded of a store that this worker serves, since the store dies with the worker.
struct StoreRecord {
  std::string address;
  int port = 0;
  std::vector<std::string> allowed;
  uint32_t account = 0;
  int32_t world_size = 0;
  int32_t arrived = 0;  // ranks that have reached it
};
// The record of a store that nobody has reached yet.
RecordLine ToRecordLine(const StoreRecord& record);
absl::Status AddArrivals(const std::string& attempt_dir, int32_t arrived);
// nullopt: this worker serves no store for that attempt.
std::optional<StoreRecord> ReadStoreRecord(const std::string& attempt_dir);

// Whether the store that died with an earlier worker is lost to ranks that go on without it. They
// go on if all have met there: only a rank that makes another group later needs it again. Where our
// own part has `returned`, ranks elsewhere go on in any case, and need it again if any has been
// there.
bool IsLost(const StoreRecord& record, bool returned);

// To be called after a restart of the worker, if our part has not returned. If no rank had reached
// the store, serves it again at the same port. If it IsLost, returns null: the ranks go on without
// it. Otherwise FailedPrecondition: what the first ranks said is lost, and the others would wait
// for it.
absl::StatusOr<std::unique_ptr<StoreServer>> ReopenStore(EventLoop* loop,
                                                         const StoreRecord& record);

// Opens the port only to answer keepalives there, since the store was lost.
absl::StatusOr<std::unique_ptr<StoreServer>> ReopenForKeepalives(EventLoop* loop,
                                                                 const StoreRecord& record);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_PEERS_STORE_PORT_H_
