#include "coordinator/rpc/doors/served_certificate.h"

#include <grpc/grpc.h>

#include <utility>

#include "common/files/files.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

// In gRPC 1.51 only the core has credentials that fetch their certificate when it is needed; the
// C++ interface lacks them.
class CoreCredentials final : public grpc::ServerCredentials {
 public:
  explicit CoreCredentials(grpc_server_credentials* credentials) : credentials_(credentials) {}
  ~CoreCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* const credentials_;
};

}  // namespace

absl::Status ServedCertificate::Load(const std::string& key_path, const std::string& chain_path) {
  HPC_ASSIGN_OR_RETURN(std::string key, ReadFile(key_path));
  HPC_ASSIGN_OR_RETURN(std::string chain, ReadFile(chain_path));
  const std::lock_guard lock(mutex_);
  key_ = std::move(key);
  chain_ = std::move(chain);
  fetched_ = false;
  return absl::OkStatus();
}

std::shared_ptr<grpc::ServerCredentials> ServedCertificate::Credentials() {
  return std::make_shared<CoreCredentials>(grpc_ssl_server_credentials_create_with_options(
      grpc_ssl_server_credentials_create_options_using_config_fetcher(
          GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY, &ServedCertificate::Fetch, this)));
}

grpc_ssl_certificate_config_reload_status ServedCertificate::Fetch(
    void* self, grpc_ssl_server_certificate_config** config) {
  auto* const served = static_cast<ServedCertificate*>(self);
  const std::lock_guard lock(served->mutex_);
  if (served->fetched_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const grpc_ssl_pem_key_cert_pair pair = {served->key_.c_str(), served->chain_.c_str()};
  // gRPC demands an authority for clients even if it does not verify them.
  *config = grpc_ssl_server_certificate_config_create(served->chain_.c_str(), &pair, 1);
  served->fetched_ = true;
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

}  // namespace hpc::coordinator
