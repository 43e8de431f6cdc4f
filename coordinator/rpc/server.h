// The gRPC server and its loop. The loop's thread is the owner of everything in the coordinator: it
// drains the completion queue, which calls the engine, then flushes the engine, then waits.
#ifndef HPC_COORDINATOR_RPC_SERVER_H_
#define HPC_COORDINATOR_RPC_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/net/endpoint.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/trust/trust.h"

namespace hpc::coordinator {

struct ServerOptions {
  std::optional<Endpoint> listen;                // TCP; port 0: the kernel chooses
  Trust* trust = nullptr;                        // who may come by TCP; null: anyone, in plain text
  std::string socket;                            // path of a Unix socket; "": none
  std::string admin_group;                       // of Unix; its members are admins there; "": none
  std::string state_dir;                         // as shown by GetStatus
  absl::Duration stop_grace = absl::Seconds(2);  // for calls to end when the server stops
};

class Server {
 public:
  // Listens, but answers nothing before Run. Errors name the address: AlreadyExists: in use;
  // InvalidArgument: the socket's path is too long; else what the kernel said.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       Engine* engine);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Where it listens, with the port that was chosen: "127.0.0.1:41234"; "" without TCP.
  const std::string& address() const;

  // Serves until RequestStop, or until the engine cannot write any more, whose error it returns.
  // `on_progress` is called after each round, at least once per `max_idle`.
  absl::Status Run(const std::function<void()>& on_progress, absl::Duration max_idle);

  // From any thread, once. Calls in progress end with UNAVAILABLE, after what they were promised.
  void RequestStop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_SERVER_H_
