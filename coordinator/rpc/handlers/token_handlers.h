// Methods of the service Trust about the tokens with which PCs and people join.
#ifndef HPC_COORDINATOR_RPC_HANDLERS_TOKEN_HANDLERS_H_
#define HPC_COORDINATOR_RPC_HANDLERS_TOKEN_HANDLERS_H_

#include <string>
#include <vector>

#include "common/net/endpoint.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/rpc/doors/caller.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/trust/trust.h"
#include "hpc/v1/trust.pb.h"

namespace hpc::coordinator {

class TokenHandlers {
 public:
  // `trust` may be null: then everything is refused. `addresses`: where others reach the
  // coordinator.
  TokenHandlers(Engine* engine, Trust* trust, std::vector<Endpoint> addresses);

  void CreateToken(const Caller& caller, const v1::CreateTokenRequest& request,
                   Reply<v1::CreateTokenResponse> reply);
  void ListTokens(const Caller& caller, const v1::ListTokensRequest& request,
                  Reply<v1::ListTokensResponse> reply);
  void RevokeToken(const Caller& caller, const v1::RevokeTokenRequest& request,
                   Reply<v1::RevokeTokenResponse> reply);

 private:
  absl::StatusOr<std::string> MakeLine(pki::Role role, const std::string& secret,
                                       const v1::CreateTokenRequest& request) const;

  Engine* const engine_;
  Trust* const trust_;
  const std::vector<Endpoint> addresses_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_HANDLERS_TOKEN_HANDLERS_H_
