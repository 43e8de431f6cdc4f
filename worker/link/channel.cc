#include "worker/link/channel.h"

#include <grpc/support/log.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "common/pki/authority.h"
#include "common/pki/tls/lean_provider.h"

namespace hpc::worker {
namespace {

// gRPC writes to stderr, at each try, what its caller is told anyway. This stops that, unless
// somebody has asked for it.
void SilenceGrpc() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_function([](gpr_log_func_args* args) {
    // These are gRPC's last words, since the process aborts after them.
    if (!absl::StartsWith(args->message, "assertion failed")) return;
    std::fprintf(stderr, "gRPC: %s:%d: %s\n", args->file, args->line, args->message);
  });
}

void BeforeTheFirstChannel() {
  [[maybe_unused]] static const bool silenced = (SilenceGrpc(), true);
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const Endpoint& endpoint,
                                           const member::Security& security,
                                           grpc::ChannelArguments arguments) {
  BeforeTheFirstChannel();
  // The coordinator is on the same network. A proxy that is set for the web is not on the way to
  // it.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (endpoint.is_unix || !security.is_tls()) {
    return grpc::CreateCustomChannel(endpoint.ToString(), grpc::InsecureChannelCredentials(),
                                     arguments);
  }
  pki::UseLeanProvider();
  arguments.SetSslTargetNameOverride(std::string(pki::kCoordinatorHost));
  return grpc::CreateCustomChannel(
      endpoint.ToString(),
      grpc::SslCredentials({security.authorities, security.key, security.certificate}), arguments);
}

std::string ShownOn(const grpc::ClientContext& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr) return "";
  const auto chain = peer->FindPropertyValues(GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME);
  return chain.empty() ? "" : std::string(chain[0].data(), chain[0].size());
}

}  // namespace hpc::worker
