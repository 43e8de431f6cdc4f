// The certificate that the coordinator shows. It may change while the coordinator listens: what
// Load has read is shown from the next handshake on. gRPC's own watcher of files looks once a
// second, and a token that names a new authority would not work until then.
#ifndef HPC_COORDINATOR_RPC_DOORS_SERVED_CERTIFICATE_H_
#define HPC_COORDINATOR_RPC_DOORS_SERVED_CERTIFICATE_H_

#include <grpc/grpc_security.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"

namespace hpc::coordinator {

// Thread-safe.
class ServedCertificate {
 public:
  // Both files are PEM. If they cannot be read, the certificate shown before stays.
  absl::Status Load(const std::string& key_path, const std::string& chain_path);

  // Credentials for a server that ends before this object; something must have been loaded. Clients
  // are asked for certificates, which are not judged here.
  std::shared_ptr<grpc::ServerCredentials> Credentials();

 private:
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config);

  std::mutex mutex_;
  std::string key_, chain_;
  bool fetched_ = false;  // since the last Load
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_SERVED_CERTIFICATE_H_
