// The gRPC server and its loop. The loop's thread owns everything in the coordinator. It drains the
// completion queue, which calls the engine; then it flushes the engine, and then it waits.
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
  std::string admin_group;                       // a Unix group; its members are admins; "": none
  std::string state_dir;                         // as shown by GetStatus
  absl::Duration stop_grace = absl::Seconds(2);  // for calls to end when the server stops
};

class Server {
 public:
  // Listens, but answers nothing before Run. Errors name the address. AlreadyExists: it is in use.
  // InvalidArgument: the path of the socket is too long. Other errors are those of the kernel.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       Engine* engine);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The address it listens on, with the port that was chosen: "127.0.0.1:41234"; "" without TCP.
  const std::string& address() const;

  // Serves until RequestStop, or until the engine cannot write any more; then it returns that
  // error. `on_progress` is called after each round, and at least once per `max_idle`.
  absl::Status Run(const std::function<void()>& on_progress, absl::Duration max_idle);

  // May be called from any thread, once. Calls in progress get what they were promised, and then
  // end with UNAVAILABLE.
  void RequestStop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_SERVER_H_
