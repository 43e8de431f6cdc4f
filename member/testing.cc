#include "member/testing.h"

#include <atomic>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/pki/private_key.h"
#include "common/pki/signing_request.h"

namespace hpc::member {
namespace {

// Each test coordinator is a cluster of its own.
std::string NextClusterId() {
  static std::atomic<int> made = 0;
  return absl::StrFormat("%016x", ++made);
}

constexpr char kSecret[] = "0123456789012345";

}  // namespace

TestCoordinator::TestCoordinator(std::vector<grpc::Service*> more, absl::Time made_at)
    : cluster_(NextClusterId()),
      former_(*pki::Authority::Create(cluster_, made_at)),
      authority_(*pki::Authority::Create(cluster_, made_at)) {
  const pki::PrivateKey key = *pki::PrivateKey::Generate();
  const pki::Certificate certificate = *authority_.Sign(
      *pki::SigningRequest::Make(key), {cluster_, pki::Role::kCoordinator, "coordinator"}, made_at,
      absl::Hours(48));
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  options.pem_key_cert_pairs = {
      {*key.ToPem(""), certificate.ToPem() + former_.CrossSign(authority_, made_at)->ToPem() +
                           authority_.certificate().ToPem()}};
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(this);
  for (grpc::Service* service : more) builder.RegisterService(service);
  server_ = builder.BuildAndStart();
  address_ = {.is_unix = false, .path = "", .host = "127.0.0.1", .port = port};
}

TestCoordinator::~TestCoordinator() { server_->Shutdown(std::chrono::system_clock::now()); }

pki::JoinToken TestCoordinator::Token(pki::Role role) const {
  return {.role = role,
          .secret = kSecret,
          .authority_hash = authority_.certificate().PublicKeyHash(),
          .addresses = {address_}};
}

pki::Membership TestCoordinator::Admit(pki::Role role, const std::string& name,
                                       absl::Duration lifetime, absl::Time issued_at) const {
  const pki::PrivateKey key = *pki::PrivateKey::Generate();
  return {.key_pem = *key.ToPem(""),
          .certificate_pem = authority_
                                 .Sign(*pki::SigningRequest::Make(key), {cluster_, role, name},
                                       issued_at, lifetime)
                                 ->ToPem(),
          .authorities_pem = authority_.certificate().ToPem(),
          .addresses = {address_}};
}

std::vector<v1::JoinRequest> TestCoordinator::joins() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return joins_;
}

int TestCoordinator::renewals() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return renewals_;
}

pki::Certificate TestCoordinator::Sign(const std::string& signing_request,
                                       const pki::Identity& identity) const {
  return *authority_.Sign(*pki::SigningRequest::FromPem(signing_request), identity,
                          absl::Now() + clock_ahead, absl::Hours(48));
}

grpc::Status TestCoordinator::Join(grpc::ServerContext*, const v1::JoinRequest* request,
                                   v1::JoinResponse* response) {
  const std::lock_guard<std::mutex> lock(mutex_);
  joins_.push_back(*request);
  if (!refusal.ok()) return refusal;
  const pki::Identity identity = {cluster_, *pki::ParseRole(request->role()),
                                  wrong_name.empty() ? request->name() : wrong_name};
  response->set_certificate(Sign(request->signing_request(), identity).ToPem());
  response->set_authorities(authority_.certificate().ToPem());
  response->set_now_us(absl::ToUnixMicros(absl::Now() + clock_ahead));
  return grpc::Status::OK;
}

grpc::Status TestCoordinator::Renew(grpc::ServerContext* context, const v1::RenewRequest* request,
                                    v1::RenewResponse* response) {
  const auto caller = pki::Certificate::FromPem(CallerOf(*context));
  if (!caller.ok()) return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "no certificate");
  const std::lock_guard<std::mutex> lock(mutex_);
  ++renewals_;
  response->set_certificate(Sign(request->signing_request(), *caller->GetIdentity()).ToPem());
  response->set_authorities(authority_.certificate().ToPem());
  return grpc::Status::OK;
}

grpc::Status TestCoordinator::CreateToken(grpc::ServerContext*,
                                          const v1::CreateTokenRequest* request,
                                          v1::CreateTokenResponse* response) {
  const pki::JoinToken token = Token(*pki::ParseRole(request->role()));
  response->set_token(pki::FormatJoinToken(token));
  response->set_id(pki::TokenId(token.secret));
  response->set_expires_at_us(
      absl::ToUnixMicros(absl::Now() + absl::Seconds(request->lifetime_s())));
  return grpc::Status::OK;
}

grpc::Status TestCoordinator::WhoAmI(grpc::ServerContext* context, const v1::WhoAmIRequest*,
                                     v1::WhoAmIResponse* response) {
  const auto caller = pki::Certificate::FromPem(CallerOf(*context));
  if (!caller.ok()) return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "no certificate");
  response->set_role(std::string(pki::RoleName(caller->GetIdentity()->role)));
  response->set_name(caller->GetIdentity()->name);
  response->set_by("certificate");
  return grpc::Status::OK;
}

std::string CallerOf(const grpc::ServerContext& context) {
  const auto found = context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return found.empty() ? "" : std::string(found[0].data(), found[0].size());
}

}  // namespace hpc::member
