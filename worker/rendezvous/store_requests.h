// The rendezvous store without its sockets: it takes the bytes of many clients, and gives bytes.
#ifndef HPC_WORKER_RENDEZVOUS_STORE_REQUESTS_H_
#define HPC_WORKER_RENDEZVOUS_STORE_REQUESTS_H_

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

// A client that has not taken this much of its output gets no further request answered.
inline constexpr size_t kMaxUnsentBytes = size_t{1} << 20;
// How many waits and barriers one client may have open. torch's clients have one.
inline constexpr size_t kMaxDeferred = 16;

// Requests of one client are carried out in order and answered in order. Behind a WAIT, answers are
// held back. A CANCEL_WAIT ends all of the client's open waits and barriers.
//
// A client that breaks the protocol or a limit has failed. Nothing more of it is carried out, and
// the shell disconnects it.
class StoreRequests {
 public:
  using ClientId = uint64_t;

  explicit StoreRequests(size_t max_table_bytes = kMaxTableBytes) : table_(max_table_bytes) {}

  // `address` is only used in reports. An id is never reused.
  ClientId Connect(std::string address);
  void Disconnect(ClientId id);

  void Receive(ClientId id, absl::string_view bytes);
  absl::string_view Output(ClientId id) const { return clients_.at(id).replies.ready(); }
  // The client took the first `bytes` of Output. This may carry out requests that waited for it.
  void Sent(ClientId id, size_t bytes);
  // False while the client must take its output first. Receive must not be called for it then.
  bool WantsInput(ClientId id) const;
  // Why the client has failed; OK if it has not.
  const absl::Status& Failure(ClientId id) const { return clients_.at(id).failure; }

  // The clients that have failed or got output since the last call, without those that were
  // disconnected since.
  std::set<ClientId> TakeTouched();

  // Everything except what was refused, which the shell knows.
  StoreStatus Status() const;
  // Grows with every arrival, and with every wait that begins or ends.
  uint64_t version() const { return version_; }

 private:
  struct Client {
    std::string address;
    RequestParser parser;
    ReplyQueue replies;
    absl::Status failure;
    bool named = false;  // a PING has named its process
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

#endif  // HPC_WORKER_RENDEZVOUS_STORE_REQUESTS_H_
