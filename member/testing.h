// A coordinator for tests: the Trust service over real TLS on a port of its own, and the authority
// that it signs with.
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
  // Serves `more` too. Its certificate is made as if at `made_at`, and is valid for two days.
  explicit TestCoordinator(std::vector<grpc::Service*> more = {}, absl::Time made_at = absl::Now());
  ~TestCoordinator() override;

  const Endpoint& address() const { return address_; }
  const pki::Authority& authority() const { return authority_; }
  // The authority that was rotated out. A member that knows only this one can follow the chain to
  // authority().
  const pki::Authority& former() const { return former_; }
  pki::JoinToken Token(pki::Role role) const;
  // Returns a membership as if the member had joined. It is valid for `lifetime` from `issued_at`.
  pki::Membership Admit(pki::Role role, const std::string& name,
                        absl::Duration lifetime = absl::Hours(48),
                        absl::Time issued_at = absl::Now()) const;

  // Join answers with this in place of a certificate; OK: it signs.
  grpc::Status refusal;
  // If set, Join signs for this name in place of the one that was asked for.
  std::string wrong_name;
  // How far this coordinator's clock is ahead of ours.
  absl::Duration clock_ahead;

  std::vector<v1::JoinRequest> joins() const;
  int renewals() const;

  grpc::Status Join(grpc::ServerContext*, const v1::JoinRequest* request,
                    v1::JoinResponse* response) override;
  grpc::Status Renew(grpc::ServerContext* context, const v1::RenewRequest* request,
                     v1::RenewResponse* response) override;
  // Answers with Token() for the role that is asked for.
  grpc::Status CreateToken(grpc::ServerContext*, const v1::CreateTokenRequest* request,
                           v1::CreateTokenResponse* response) override;
  // Answers with what the caller's certificate says.
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

// Returns the certificate that the caller of a method showed, or "" if there was none.
std::string CallerOf(const grpc::ServerContext& context);

}  // namespace hpc::member

#endif  // HPC_MEMBER_TESTING_H_
