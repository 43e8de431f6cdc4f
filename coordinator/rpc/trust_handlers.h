// The service Trust: tokens, certificates and the authority.
#ifndef HPC_COORDINATOR_RPC_TRUST_HANDLERS_H_
#define HPC_COORDINATOR_RPC_TRUST_HANDLERS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/endpoint.h"
#include "coordinator/rpc/call_host.h"
#include "coordinator/rpc/unary_call.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/trust/rate_limiter.h"
#include "coordinator/trust/trust.h"
#include "hpc/v1/trust.pb.h"

namespace hpc::coordinator {

class TrustHandlers {
 public:
  // `trust` may be null: only WhoAmI answers then. `addresses`: where others reach the coordinator.
  TrustHandlers(Engine* engine, Trust* trust, std::vector<Endpoint> addresses);

  // Whose calls end when a certificate is revoked.
  void Serve(CallHost* host) { host_ = host; }

  void Join(const Caller& caller, const v1::JoinRequest& request, Reply<v1::JoinResponse> reply);
  void Renew(const Caller& caller, const v1::RenewRequest& request, Reply<v1::RenewResponse> reply);
  void CreateToken(const Caller& caller, const v1::CreateTokenRequest& request,
                   Reply<v1::CreateTokenResponse> reply);
  void ListTokens(const Caller& caller, const v1::ListTokensRequest& request,
                  Reply<v1::ListTokensResponse> reply);
  void RevokeToken(const Caller& caller, const v1::RevokeTokenRequest& request,
                   Reply<v1::RevokeTokenResponse> reply);
  void ListCertificates(const Caller& caller, const v1::ListCertificatesRequest& request,
                        Reply<v1::ListCertificatesResponse> reply);
  void RevokeCertificate(const Caller& caller, const v1::RevokeCertificateRequest& request,
                         Reply<v1::RevokeCertificateResponse> reply);
  void RotateAuthority(const Caller& caller, const v1::RotateAuthorityRequest& request,
                       Reply<v1::RotateAuthorityResponse> reply);
  void WhoAmI(const Caller& caller, const v1::WhoAmIRequest& request,
              Reply<v1::WhoAmIResponse> reply);

 private:
  struct Admitted {
    v1::JoinResponse response;
    std::vector<TrustRecord> records;
    std::vector<std::string> ended;  // serials that are valid no more
  };

  absl::Status CheckTrust() const;
  absl::StatusOr<Admitted> Admit(const Caller& caller, const v1::JoinRequest& request);
  absl::StatusOr<pki::Certificate> Issue(const std::string& signing_request, pki::Role role,
                                         const std::string& name);
  CertificateRecord RecordOf(const pki::Certificate& certificate, pki::Role role,
                             const std::string& name, const std::string& peer) const;
  absl::StatusOr<std::string> MakeToken(const TokenRecord& token, const std::string& secret,
                                        const v1::CreateTokenRequest& request) const;
  // Ends every open call that was made with one of these.

  Engine* const engine_;
  Trust* const trust_;
  const std::vector<Endpoint> addresses_;
  CallHost* host_ = nullptr;
  RateLimiter bad_tokens_;  // per address
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_TRUST_HANDLERS_H_
