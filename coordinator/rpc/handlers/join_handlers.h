// How a member gets its certificate: the methods Join and Renew of the service Trust.
#ifndef HPC_COORDINATOR_RPC_HANDLERS_JOIN_HANDLERS_H_
#define HPC_COORDINATOR_RPC_HANDLERS_JOIN_HANDLERS_H_

#include <string>
#include <vector>

#include "coordinator/rpc/answers/reply.h"
#include "coordinator/rpc/doors/caller.h"
#include "coordinator/rpc/handlers/gate.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/trust/rate_limiter.h"
#include "coordinator/trust/trust.h"
#include "hpc/v1/trust.pb.h"

namespace hpc::coordinator {

class JoinHandlers {
 public:
  // `trust` may be null: then everything is refused.
  JoinHandlers(Engine* engine, Trust* trust);

  // `gate` is told of refusals, and ends the calls of a PC whose place another PC takes.
  void Serve(Gate* gate) { gate_ = gate; }

  void Join(const Caller& caller, const v1::JoinRequest& request, Reply<v1::JoinResponse> reply);
  void Renew(const Caller& caller, const v1::RenewRequest& request, Reply<v1::RenewResponse> reply);

 private:
  struct Admitted {
    v1::JoinResponse response;
    std::vector<TrustRecord> records;
    std::vector<std::string> ended;  // serials that are not valid any more
  };

  absl::StatusOr<Admitted> Admit(const Caller& caller, const v1::JoinRequest& request);
  absl::StatusOr<pki::Certificate> Issue(const std::string& signing_request, pki::Role role,
                                         const std::string& name);
  CertificateRecord RecordOf(const pki::Certificate& certificate, pki::Role role,
                             const std::string& name, const std::string& peer) const;

  Engine* const engine_;
  Trust* const trust_;
  Gate* gate_ = nullptr;
  RateLimiter bad_tokens_;  // per address
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_HANDLERS_JOIN_HANDLERS_H_
