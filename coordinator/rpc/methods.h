// Every RPC that the coordinator serves, in one table: how it is called, and what handles it.
#ifndef HPC_COORDINATOR_RPC_METHODS_H_
#define HPC_COORDINATOR_RPC_METHODS_H_

#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <vector>

#include "coordinator/rpc/answers/node_usage.h"
#include "coordinator/rpc/calls/call_host.h"
#include "coordinator/rpc/handlers/certificate_handlers.h"
#include "coordinator/rpc/handlers/cluster_handlers.h"
#include "coordinator/rpc/handlers/join_handlers.h"
#include "coordinator/rpc/handlers/nodes_handlers.h"
#include "coordinator/rpc/handlers/runs_handlers.h"
#include "coordinator/rpc/handlers/token_handlers.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/trust/trust.h"

namespace hpc::coordinator {

struct MethodOptions {
  std::string state_dir;
  std::vector<Endpoint> addresses;  // where others reach us, for tokens
};

class Methods {
 public:
  // `trust` may be null: then everything that needs an authority is refused.
  Methods(Engine* engine, Trust* trust, const MethodOptions& options);
  ~Methods();

  // Must be called before the server is built.
  void Register(grpc::ServerBuilder* builder);
  // Begins to accept calls of every method, once the server runs. `host` must outlive all calls.
  void Accept(CallHost* host);

 private:
  struct Services;

  Engine* const engine_;
  NodeUsage usage_;
  RunsHandlers runs_;
  NodesHandlers nodes_;
  ClusterHandlers cluster_;
  JoinHandlers joins_;
  TokenHandlers tokens_;
  CertificateHandlers certificates_;
  const std::unique_ptr<Services> services_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_METHODS_H_
