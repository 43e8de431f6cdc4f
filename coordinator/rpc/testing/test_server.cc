#include "coordinator/rpc/testing/test_server.h"

#include <gtest/gtest.h>

#include <chrono>

#include "common/pki/authority.h"
#include "common/status_matchers.h"
#include "coordinator/store/sqlite_store.h"

namespace hpc::coordinator::testing {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) {
    ADD_FAILURE() << value.status();
    abort();
  }
  return *std::move(value);
}

// No lease ends in these tests, since slow machines run them, too.
ClusterOptions Patient() {
  ClusterOptions options;
  options.lease = absl::Minutes(5);
  options.restart_backoff = absl::Milliseconds(1);
  return options;
}

}  // namespace

TestServer::TestServer(bool secure) : secure_(secure) {
  if (secure) {
    EXPECT_OK(pki::Keyring::Create({dir_.File("keys"), "", ""}, absl::Now()));
  }
  Start();
}

void TestServer::Start() {
  store_ = std::make_unique<HoldingStore>(OrDie(OpenSqliteStore(dir_.File("hpc.db"))));
  logs_ = OrDie(LogStore::Open(dir_.File("logs"), LogStoreOptions()));
  const absl::StatusOr<Snapshot> snapshot = store_->Load();
  EXPECT_OK(snapshot);
  secrets_ = std::make_unique<SecretVault>(
      OrDie(SecretVault::Open(dir_.File("secrets"), LiveRuns(*snapshot))));
  engine_ = std::make_unique<Engine>(Patient(), *snapshot, &clock_, store_.get(), logs_.get(),
                                     secrets_.get(), &wake_sender_);
  ServerOptions options;
  if (secure_) {
    absl::StatusOr<pki::Keyring> keyring =
        pki::Keyring::Load({dir_.File("keys"), "", ""}, absl::Now());
    EXPECT_OK(keyring);
    const absl::StatusOr<TrustSnapshot> known = store_->LoadTrust();
    EXPECT_OK(known);
    trust_ = std::make_unique<Trust>(*std::move(keyring), *known);
    options.trust = trust_.get();
  }
  options.listen = Endpoint{.host = "127.0.0.1", .port = 0};
  options.socket = dir_.File("sock");
  options.state_dir = dir_.path();
  server_ = OrDie(Server::Start(options, engine_.get()));
  thread_ = std::thread([this] { ended_ = server_->Run([] {}, absl::InfiniteDuration()); });

  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel_ = grpc::CreateCustomChannel(target(), grpc::InsecureChannelCredentials(), arguments);
  runs_ = v1::Runs::NewStub(channel_);
  nodes_ = v1::Nodes::NewStub(channel_);
  cluster_ = v1::Cluster::NewStub(channel_);
}

std::shared_ptr<grpc::Channel> TestServer::TlsChannel(const std::string& key,
                                                      const std::string& certificate) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = trust_->keyring.TrustedPem(absl::Now());
  options.pem_private_key = key;
  options.pem_cert_chain = certificate;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetSslTargetNameOverride(std::string(pki::kCoordinatorHost));
  return grpc::CreateCustomChannel(tcp(), grpc::SslCredentials(options), arguments);
}

absl::Status TestServer::Stop() {
  if (!thread_.joinable()) return ended_;
  server_->RequestStop();
  thread_.join();
  server_.reset();
  engine_.reset();
  trust_.reset();
  logs_.reset();
  store_.reset();
  return ended_;
}

std::unique_ptr<grpc::ClientContext> Context() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  return context;
}

v1::SubmitRequest TrueOn(int nodes) {
  v1::SubmitRequest request;
  request.mutable_spec()->add_command("/bin/true");
  request.mutable_spec()->set_workdir("/");
  request.mutable_spec()->set_min_nodes(nodes);
  return request;
}

int64_t SubmitOk(TestServer& server, const v1::SubmitRequest& request) {
  v1::SubmitResponse response;
  const grpc::Status status = server.runs().Submit(Context().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.run();
}

}  // namespace hpc::coordinator::testing
