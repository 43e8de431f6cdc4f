// A coordinator for tests: Trust over real TLS on a port of its own, and what it needs to sign.
#ifndef HPC_MEMBER_TESTING_H_
#define HPC_MEMBER_TESTING_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/net/endpoint.h"
#include "common/pki/authority.h"
#include "common/pki/join_token.h"
#include "common/pki/membership.h"
#include "hpc/v1/trust.grpc.pb.h"

namespace hpc::member {

class TestCoordinator : public v1::Trust::Service {
 public:
  // Serves `more` too. Its certificate is made as at `made_at`, for two days.
  explicit TestCoordinator(std::vector<grpc::Service*> more = {}, absl::Time made_at = absl::Now());
  ~TestCoordinator() override;

  const Endpoint& address() const { return address_; }
  const pki::Authority& authority() const { return authority_; }
  // The one that was rotated out: who knows only that can follow to authority().
  const pki::Authority& former() const { return former_; }
  pki::JoinToken Token(pki::Role role) const;
  // A membership as if it had been joined, which lasts for `lifetime` from `issued_at`.
  pki::Membership Admit(pki::Role role, const std::string& name,
                        absl::Duration lifetime = absl::Hours(48),
                        absl::Time issued_at = absl::Now()) const;

  // What Join answers in place of a certificate; OK: it signs.
  grpc::Status refusal;
  // Signed in place of the name that was asked for.
  std::string wrong_name;
  // How far this coordinator's clock is ahead of ours.
  absl::Duration clock_ahead;

  std::vector<v1::JoinRequest> joins() const;
  int renewals() const;

  grpc::Status Join(grpc::ServerContext*, const v1::JoinRequest* request,
                    v1::JoinResponse* response) override;
  grpc::Status Renew(grpc::ServerContext* context, const v1::RenewRequest* request,
                     v1::RenewResponse* response) override;
  // Token() of the role that is asked for.
  grpc::Status CreateToken(grpc::ServerContext*, const v1::CreateTokenRequest* request,
                           v1::CreateTokenResponse* response) override;
  // As the certificate says.
  grpc::Status WhoAmI(grpc::ServerContext* context, const v1::WhoAmIRequest*,
                      v1::WhoAmIResponse* response) override;

 private:
  pki::Certificate Sign(const std::string& signing_request, const pki::Identity& identity) const;

  const std::string cluster_;
  const pki::Authority former_, authority_;
  Endpoint address_;
  std::unique_ptr<grpc::Server> server_;
  mutable std::mutex mutex_;
  std::vector<v1::JoinRequest> joins_;
  int renewals_ = 0;
};

// The certificate that the caller of a method showed; "" if none.
std::string CallerOf(const grpc::ServerContext& context);

}  // namespace hpc::member

#endif  // HPC_MEMBER_TESTING_H_
