#include "coordinator/rpc/doors/doorman.h"

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/pki/verify.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/core/values/event_kinds.h"

namespace hpc::coordinator {
namespace {

constexpr RateLimit kTold = {.burst = 10, .each = absl::Seconds(6)};
constexpr size_t kMaxVerified = 4096;

std::optional<gid_t> GroupId(const std::string& name) {
  if (name.empty()) return std::nullopt;
  std::array<char, 16384> buffer{};
  group entry{};
  group* found = nullptr;
  getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return std::nullopt;
  return entry.gr_gid;
}

std::string Property(const grpc::ServerContext& context, const char* name) {
  const auto values = context.auth_context()->FindPropertyValues(name);
  return values.empty() ? "" : std::string(values[0].data(), values[0].size());
}

// Advice for a member whose certificate is of no use any more: what lets it in again. A token that
// is made for the member's name is never refused.
std::string JoinAgain(const std::string& pem) {
  const absl::StatusOr<pki::Certificate> certificate = pki::Certificate::FromPem(pem);
  const absl::StatusOr<pki::Identity> identity =
      certificate.ok() ? certificate->GetIdentity()
                       : absl::StatusOr<pki::Identity>(certificate.status());
  if (!identity.ok() || identity->role == pki::Role::kCoordinator) return "";
  const bool is_pc = identity->role == pki::Role::kWorker;
  const std::string& name = identity->name;
  return absl::StrCat(
      ". To come in again, have an admin make a token for this name (hpcctl token create --role ",
      pki::RoleName(identity->role), " --name ", name, "), ",
      is_pc ? "and on this PC stop the worker (systemctl stop hpc-worker) and run hpc-worker join"
            : "and run hpcctl login",
      " TOKEN --name ", name, is_pc ? " (with its --state-dir, if it is started with one)" : "");
}

std::string WhoAndWhence(const Caller& caller) {
  if (caller.user.empty()) return caller.peer;
  return absl::StrCat(StandingName(caller.standing), " ", caller.user, " from ", caller.peer);
}

Standing StandingOf(pki::Role role) {
  switch (role) {
    case pki::Role::kAdmin:
      return Standing::kAdmin;
    case pki::Role::kUser:
      return Standing::kUser;
    case pki::Role::kWorker:
      return Standing::kWorker;
    case pki::Role::kCoordinator:
      break;
  }
  return Standing::kNobody;
}

}  // namespace

Doorman::Doorman(Engine* engine, const Trust* trust, const PeerBook* peers, GuestBook* guests,
                 int connections_per_member, const std::string& admin_group)
    : engine_(engine),
      trust_(trust),
      peers_(peers),
      guests_(guests),
      members_(connections_per_member),
      admin_gid_(GroupId(admin_group)),
      told_(kTold) {}

absl::StatusOr<Caller> Doorman::Admit(const char* method, const grpc::ServerContext& context) {
  absl::StatusOr<Caller> caller = Identify(context);
  if (!caller.ok()) {
    NoteRefusal(DescribePeer(context.peer()),
                absl::StrCat(method, ": ", caller.status().message()));
    return absl::Status(
        caller.status().code(),
        absl::StrCat(caller.status().message(), JoinAgain(Property(context, "x509_pem_cert"))));
  }
  HPC_RETURN_IF_ERROR(Vouch(*caller, context));
  const Grant grant = GrantOf(method, caller->standing);
  if (grant == Grant::kNo) {
    const absl::Status refusal = Refusal(method, caller->standing);
    const absl::string_view words = refusal.message();
    const bool names_it = absl::StrContains(words, method);
    NoteRefusal(WhoAndWhence(*caller),
                absl::StrCat(names_it ? "" : method, names_it ? "" : ": ", words));
    return refusal;
  }
  caller->own_only = grant == Grant::kOwn;
  return caller;
}

absl::Status Doorman::Vouch(const Caller& caller, const grpc::ServerContext& context) {
  if (caller.standing == Standing::kNobody) return absl::OkStatus();
  const std::optional<OpenSocket> guest = guests_->Find(context.peer());
  if (!guest) return absl::OkStatus();
  if (!caller.user.empty()) {
    const absl::Status counted =
        members_.Enter(absl::StrCat(StandingName(caller.standing), " ", caller.user), *guest);
    if (!counted.ok()) {  // it stays a guest, whose time ends
      NoteRefusal(caller.peer, std::string(counted.message()));
      return counted;
    }
  }
  guests_->Vouch(context.peer());
  return absl::OkStatus();
}

void Doorman::NoteDenied(const Caller& caller, const absl::Status& status) {
  if (!absl::IsPermissionDenied(status)) return;
  NoteRefusal(WhoAndWhence(caller), std::string(status.message()));
}

void Doorman::NoteRefusal(const std::string& peer, const std::string& what) {
  if (!told_.Allow(peer, engine_->now().mono)) {
    ++untold_;
    return;
  }
  std::string text = absl::StrCat(peer, ": ", ToValidUtf8(what));
  if (untold_ > 0) absl::StrAppend(&text, " (", untold_, " more refusals were not written down)");
  untold_ = 0;
  engine_->Note({event::kSecurityRefused, std::move(text), Severity::kWarning});
}

absl::StatusOr<Caller> Doorman::Identify(const grpc::ServerContext& context) {
  const std::string name = context.peer();
  if (const std::optional<PeerCredentials> local = peers_->Find(name)) return OfLocal(*local);
  const std::string peer = DescribePeer(name);
  if (trust_ != nullptr) return OfCertificate(context, peer);
  Caller anyone;
  anyone.standing = Standing::kAnyone;
  anyone.peer = peer;
  return anyone;
}

Caller Doorman::OfLocal(const PeerCredentials& peer) const {
  Caller caller;
  caller.user = peer.account;
  caller.peer = "this machine";
  const bool in_group = admin_gid_ && std::find(peer.groups.begin(), peer.groups.end(),
                                                *admin_gid_) != peer.groups.end();
  const bool admin = peer.uid == 0 || peer.uid == geteuid() || in_group;
  caller.standing = admin ? Standing::kAdmin : Standing::kUser;
  return caller;
}

absl::StatusOr<Caller> Doorman::OfCertificate(const grpc::ServerContext& context,
                                              std::string peer) {
  Caller caller;
  caller.peer = std::move(peer);
  const std::string pem = Property(context, "x509_pem_cert");
  if (pem.empty()) return caller;
  HPC_ASSIGN_OR_RETURN(const Verified verified, Verify(pem, engine_->now().wall));
  HPC_RETURN_IF_ERROR(trust_->roster.CheckNotRevoked(verified.serial));
  caller.standing = StandingOf(verified.identity.role);
  caller.user = verified.identity.name;
  caller.serial = verified.serial;
  caller.expires_at = verified.not_after;
  return caller;
}

absl::StatusOr<Doorman::Verified> Doorman::Verify(const std::string& pem, absl::Time now) {
  if (now >= verified_until_ || verified_.size() >= kMaxVerified) {
    verified_.clear();
    verified_until_ = trust_->keyring.TrustedUntil(now);
  }
  const auto known = verified_.find(pem);
  if (known != verified_.end() && known->second.not_before <= now &&
      now < known->second.not_after) {
    return known->second;
  }
  absl::StatusOr<pki::Certificate> certificate = pki::Certificate::FromPem(pem);
  if (!certificate.ok()) return absl::UnauthenticatedError(certificate.status().message());
  HPC_ASSIGN_OR_RETURN(
      const pki::Identity identity,
      pki::Verify(*certificate, {}, trust_->keyring.Trusted(now), pki::Use::kClient, now));
  const Verified verified = {identity, certificate->Serial(), certificate->not_before(),
                             certificate->not_after()};
  verified_[pem] = verified;
  return verified;
}

}  // namespace hpc::coordinator
