#include "member/channel.h"

#include "common/pki/authority.h"

namespace hpc::member {

std::shared_ptr<grpc::Channel> MakeChannel(const Endpoint& endpoint, const Security& security,
                                           grpc::ChannelArguments arguments) {
  // The coordinator is in the same house: a proxy set for the web is not on the way to it.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (endpoint.is_unix || !security.is_tls()) {
    return grpc::CreateCustomChannel(endpoint.ToString(), grpc::InsecureChannelCredentials(),
                                     arguments);
  }
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

}  // namespace hpc::member
