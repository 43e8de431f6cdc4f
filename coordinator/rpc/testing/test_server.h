// A whole coordinator in this process, with a real store, real logs, and real gRPC on a loopback
// port and a Unix socket. Tests only.
#ifndef HPC_COORDINATOR_RPC_TESTING_TEST_SERVER_H_
#define HPC_COORDINATOR_RPC_TESTING_TEST_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "coordinator/core/cluster.h"
#include "coordinator/rpc/server.h"
#include "coordinator/rpc/testing/holding_store.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/testing/records.h"
#include "hpc/v1/nodes.grpc.pb.h"
#include "hpc/v1/runs.grpc.pb.h"

namespace hpc::coordinator::testing {

// Remembers which nodes were to be woken.
class RecordingWakeSender final : public WakeSender {
 public:
  absl::Status Wake(const WakeNode& wake) override {
    woken.push_back(wake.node);
    return absl::OkStatus();
  }
  std::vector<std::string> woken;
};

class TestServer {
 public:
  // With `secure` it speaks TLS on its loopback port, and has an authority of its own.
  explicit TestServer(bool secure = false);
  ~TestServer() { Stop().IgnoreError(); }

  // Ends the coordinator as SIGTERM does. Returns the status that Run returned.
  absl::Status Stop();
  // Starts another one on the same state.
  void Start();

  // The address it listens on, in gRPC's form.
  std::string target() const { return "unix:" + dir_.File("sock"); }
  const std::string& tcp() const { return server_->address(); }

  v1::Runs::Stub& runs() { return *runs_; }
  v1::Nodes::Stub& nodes() { return *nodes_; }
  v1::Cluster::Stub& cluster() { return *cluster_; }
  std::shared_ptr<grpc::Channel> channel() { return channel_; }

  HoldingStore& store() { return *store_; }
  Trust& trust() { return *trust_; }
  // A channel to the loopback port. It shows this key and certificate, both PEM; "": shows none.
  std::shared_ptr<grpc::Channel> TlsChannel(const std::string& key, const std::string& certificate);

 private:
  TempDir dir_;
  const bool secure_;
  RealClock clock_;
  RecordingWakeSender wake_sender_;
  std::unique_ptr<HoldingStore> store_;
  std::unique_ptr<LogStore> logs_;
  std::unique_ptr<Trust> trust_;
  std::unique_ptr<SecretVault> secrets_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  absl::Status ended_;

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Runs::Stub> runs_;
  std::unique_ptr<v1::Nodes::Stub> nodes_;
  std::unique_ptr<v1::Cluster::Stub> cluster_;
};

// A context whose call fails instead of hanging a test.
std::unique_ptr<grpc::ClientContext> Context();

// A run of `true` on `nodes` nodes.
v1::SubmitRequest TrueOn(int nodes);

// Submits and returns the id; fails the test if it is refused.
int64_t SubmitOk(TestServer& server, const v1::SubmitRequest& request);

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_RPC_TESTING_TEST_SERVER_H_
