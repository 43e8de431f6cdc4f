// The rendezvous store: a server of PyTorch's TCPStore protocol for one attempt. Its port is bound
// before any rank starts, and is closed with the attempt. Its table begins empty, and it can tell
// which ranks have arrived. docs/RENDEZVOUS.md describes the bytes.
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
  std::optional<uint32_t> account;  // whose programs on this PC may connect; not set: any
  int max_connections = 4096;
  bool only_keepalives = false;  // the store itself is gone: its clients are sent away
};

struct StoreStatus {
  struct Arrival {
    std::string address;  // of the peer
    int64_t pid = 0;      // the process that its PING named
    bool operator==(const Arrival&) const = default;
  };
  std::vector<Arrival> arrivals;  // in order, without duplicates
  std::string
      blocked_key;      // missing key that most connections wait for, made valid UTF-8; "": none
  int32_t waiting = 0;  // connections that wait for a key or at a barrier
  int32_t connections = 0;
  int64_t refused = 0;  // connections from elsewhere, or that broke the protocol
  // The account of the last program on this PC that was refused since it is not of the attempt's.
  std::optional<uint32_t> refused_account;
  bool operator==(const StoreStatus&) const = default;
};

class StoreServer {
 public:
  // Unavailable: the address cannot be bound (the error names address, port and reason).
  // InvalidArgument: an address is not an IP literal, or the one to bind is a wildcard.
  static absl::StatusOr<std::unique_ptr<StoreServer>> Listen(EventLoop* loop,
                                                             const StoreServerOptions& options);
  virtual ~StoreServer() = default;  // closes the port and every connection

  virtual int port() const = 0;
  // Serves connections that begin as worker/rendezvous/keepalive.h says. They carry frames of that
  // size, and each frame is answered with what `answer` makes of it. If that is empty, or if there
  // is no `answer`, the connection is closed.
  virtual void AnswerKeepalives(std::function<std::string(const std::string& frame)> answer) = 0;
  virtual StoreStatus Status() const = 0;
  // `callback` is called on the loop when arrivals or what is blocked have changed in Status, at
  // most every 100 ms, and at once when another account was refused.
  virtual void OnChange(std::function<void()> callback) = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_RENDEZVOUS_STORE_SERVER_H_
