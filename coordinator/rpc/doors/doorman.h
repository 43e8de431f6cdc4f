// Finds out who makes a call, and whether they may.
#ifndef HPC_COORDINATOR_RPC_DOORS_DOORMAN_H_
#define HPC_COORDINATOR_RPC_DOORS_DOORMAN_H_

#include <grpcpp/server_context.h>

#include <list>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "coordinator/rpc/doors/caller.h"
#include "coordinator/rpc/doors/guest_book.h"
#include "coordinator/rpc/doors/member_book.h"
#include "coordinator/rpc/doors/peer_book.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/trust/rate_limiter.h"
#include "coordinator/trust/trust.h"

namespace hpc::coordinator {

class Doorman {
 public:
  // `trust` may be null: then there is no TLS, and every caller over TCP is kAnyone. `admin_group`
  // is a Unix group whose members are admins on the Unix socket, besides root and the coordinator's
  // own account; "": no group.
  Doorman(Engine* engine, const Trust* trust, const PeerBook* peers, GuestBook* guests,
          int connections_per_member, const std::string& admin_group);

  // Finds out who calls `method` ("hpc.v1.Runs/Submit"). Once its certificate is accepted, a caller
  // is no guest any more. Unauthenticated: it has no certificate, or one that is not accepted, and
  // why. PermissionDenied: it may not call this method. ResourceExhausted: see MemberBook::Enter. A
  // refusal becomes an event.
  absl::StatusOr<Caller> Admit(const char* method, const grpc::ServerContext& context);

  // Must be called when the authorities have changed.
  void ForgetVerified() { verified_.clear(); }

  // Writes the event of a handler's refusal to this caller, if `status` is PermissionDenied.
  void NoteDenied(const Caller& caller, const absl::Status& status);
  // Writes the event of a refusal. For callers of one address this happens a few times a minute at
  // most.
  void NoteRefusal(const std::string& peer, const std::string& what);

 private:
  struct Verified {
    pki::Identity identity;
    std::string serial;
    absl::Time not_before, not_after;
  };

  absl::StatusOr<Caller> Identify(const grpc::ServerContext& context);
  // Notes that the connection belongs to this caller.
  absl::Status Vouch(const Caller& caller, const grpc::ServerContext& context);
  absl::StatusOr<Caller> OfCertificate(const grpc::ServerContext& context, std::string peer);
  Caller OfLocal(const PeerCredentials& peer) const;
  // Checks the signatures of each certificate only once, since that is the slow part.
  absl::StatusOr<Verified> Verify(const std::string& pem, absl::Time now);

  Engine* const engine_;
  const Trust* const trust_;
  const PeerBook* const peers_;
  GuestBook* const guests_;
  MemberBook members_;
  std::optional<gid_t> admin_gid_;
  absl::flat_hash_map<std::string, Verified> verified_;  // by PEM
  absl::Time verified_until_;  // after this, what verified_ relies on may have changed
  RateLimiter told_;
  int untold_ = 0;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_DOORMAN_H_
