// The rendezvous store: a server of PyTorch's TCPStore protocol for one attempt. Its port is bound
// before any rank starts and closed with the attempt, its table begins empty, and it can tell which
// ranks have arrived. docs/RENDEZVOUS.md describes the bytes.
#ifndef HPC_WORKER_RENDEZVOUS_STORE_SERVER_H_
#define HPC_WORKER_RENDEZVOUS_STORE_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/loop/event_loop.h"

namespace hpc::worker {

struct StoreServerOptions {
  std::string address;                         // IP literal to bind; never a wildcard
  int port = 0;                                // 0: the kernel chooses
  std::vector<std::string> allowed_addresses;  // IP literals of the attempt's nodes; empty: any.
                                               // Others are closed at once and counted.
  std::optional<uint32_t> account;  // whose programs of this PC may connect; not set: any
  int max_connections = 4096;
  bool only_keepalives = false;  // the store itself is gone: its clients are sent away
};

struct StoreStatus {
  struct Arrival {
    std::string address;  // of the peer
    int64_t pid = 0;      // that its PING named
    bool operator==(const Arrival&) const = default;
  };
  std::vector<Arrival> arrivals;  // in order, without doubles
  std::string
      blocked_key;      // missing key that most connections wait for, made valid UTF-8; "": none
  int32_t waiting = 0;  // connections that wait for a key or at a barrier
  int32_t connections = 0;
  int64_t refused = 0;  // connections from elsewhere, or that broke the protocol
  bool operator==(const StoreStatus&) const = default;
};

class StoreServer {
 public:
  // Unavailable: the address cannot be bound (names address, port and why). InvalidArgument: an
  // address is no IP literal, or the one to bind is a wildcard.
  static absl::StatusOr<std::unique_ptr<StoreServer>> Listen(EventLoop* loop,
                                                             const StoreServerOptions& options);
  virtual ~StoreServer() = default;  // closes the port and every connection

  virtual int port() const = 0;
  // Connections that begin as worker/rendezvous/keepalive.h says carry frames of that size, each of
  // which is answered with what `answer` makes of it; with nothing the connection is closed, as it
  // is while there is no `answer`.
  virtual void AnswerKeepalives(std::function<std::string(const std::string& frame)> answer) = 0;
  // The store is gone from now on, and only keepalives are answered.
  virtual void SendClientsAway() = 0;
  virtual StoreStatus Status() const = 0;
  // Called on the loop when Status has changed in arrivals or in what is blocked, at most every 100
  // ms.
  virtual void OnChange(std::function<void()> callback) = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_RENDEZVOUS_STORE_SERVER_H_
