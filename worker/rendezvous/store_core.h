// All of the rendezvous store but its sockets: bytes of many clients in, bytes out.
#ifndef HPC_WORKER_RENDEZVOUS_STORE_CORE_H_
#define HPC_WORKER_RENDEZVOUS_STORE_CORE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "worker/rendezvous/arrivals.h"
#include "worker/rendezvous/key_value_table.h"
#include "worker/rendezvous/reply_queue.h"
#include "worker/rendezvous/request_parser.h"
#include "worker/rendezvous/store_bytes.h"
#include "worker/rendezvous/store_server.h"

namespace hpc::worker::store {

// A client with this much output that it has not taken gets no further request answered.
inline constexpr size_t kMaxUnsentBytes = size_t{1} << 20;
// Waits and barriers that one client may have open. torch's clients have one.
inline constexpr size_t kMaxDeferred = 16;

// Requests of one client are carried out in order, and answered in order: behind a WAIT, answers
// are held back. A CANCEL_WAIT ends all of the client's open waits and barriers.
//
// A client that breaks the protocol or a limit has failed: nothing of it is carried out from there
// on, and the shell disconnects it.
class StoreCore {
 public:
  using ClientId = uint64_t;

  explicit StoreCore(size_t max_table_bytes = kMaxTableBytes) : table_(max_table_bytes) {}

  // `address` is only reported. An id is never reused.
  ClientId Connect(std::string address);
  void Disconnect(ClientId id);

  void Receive(ClientId id, absl::string_view bytes);
  absl::string_view Output(ClientId id) const { return clients_.at(id).replies.ready(); }
  // The client took the first `bytes` of Output. May carry out requests that waited for this.
  void Sent(ClientId id, size_t bytes);
  // False while the client must take its output first: do not Receive from it then.
  bool WantsInput(ClientId id) const;
  // Why the client has failed; OK if it has not.
  const absl::Status& Failure(ClientId id) const { return clients_.at(id).failure; }

  // The clients that have failed or got output since the last call. One that was disconnected
  // since is not among them.
  std::set<ClientId> TakeTouched();

  // All but `refused`, which is the shell's.
  StoreStatus Status() const;
  // Grows with every arrival and every wait that begins or ends.
  uint64_t version() const { return version_; }

 private:
  struct Client {
    std::string address;
    RequestParser parser;
    ReplyQueue replies;
    absl::Status failure;
    bool named = false;  // by a PING
  };

  void Advance(ClientId id, Client& client);
  absl::Status Execute(ClientId id, Client& client, Request& request);
  absl::Status ExecuteWrite(Client& client, Request& request);
  absl::Status ExecuteWait(ClientId id, Client& client, const Request& request);
  void ExecuteRead(Client& client, const Request& request);
  void ExecutePing(Client& client, uint32_t nonce);
  void CancelWaits(Client& client);
  void WakeEnded();

  ClientId next_id_ = 1;
  std::map<ClientId, Client> clients_;
  std::set<ClientId> touched_;
  KeyValueTable table_;
  Arrivals arrivals_;
  uint64_t version_ = 0;
};

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_STORE_CORE_H_
