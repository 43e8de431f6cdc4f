#include "coordinator/rpc/handlers/join_handlers.h"

#include <pwd.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/pki/join_token.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/core/values/event_kinds.h"
#include "coordinator/rpc/convert/convert_common.h"

namespace hpc::coordinator {
namespace {

// If the clocks differ by more, a certificate made now would not be valid there now, or not for
// long.
constexpr absl::Duration kMaxClockError = pki::kBackdate;
constexpr RateLimit kBadTokens = {.burst = 10, .each = absl::Seconds(30)};

bool IsPerson(pki::Role role) { return role == pki::Role::kUser || role == pki::Role::kAdmin; }

bool IsLocalAccount(const std::string& name) {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr;
}

absl::Status CheckClock(absl::Time theirs, absl::Time ours) {
  const absl::Duration ahead = theirs - ours;
  if (ahead < kMaxClockError && -ahead < kMaxClockError) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the clock here is ", HumanDuration(ahead < absl::ZeroDuration() ? -ahead : ahead),
      ahead < absl::ZeroDuration() ? " behind" : " ahead of", " the coordinator's (",
      HumanTime(ours), " there): set it, then join again; the token was not used"));
}

}  // namespace

JoinHandlers::JoinHandlers(Engine* engine, Trust* trust)
    : engine_(engine), trust_(trust), bad_tokens_(kBadTokens) {}

void JoinHandlers::Join(const Caller& caller, const v1::JoinRequest& request,
                        Reply<v1::JoinResponse> reply) {
  if (absl::Status status = NeedTrust(trust_); !status.ok()) return reply(status);
  const MonoTime now = engine_->now().mono;
  if (!bad_tokens_.Has(caller.peer, now)) {
    return reply(absl::ResourceExhaustedError(
        absl::StrCat("too many bad tokens came from ", caller.peer, "; try again in ",
                     HumanDuration(bad_tokens_.Wait(caller.peer, now)))));
  }
  absl::StatusOr<Admitted> admitted = Admit(caller, request);
  if (!admitted.ok()) {
    if (absl::IsUnauthenticated(admitted.status())) bad_tokens_.Allow(caller.peer, now);
    // For every method, PermissionDenied is written down when it is answered.
    if (!absl::IsPermissionDenied(admitted.status())) {
      gate_->NoteRefusal(caller.peer, absl::StrCat("to join as ", ToValidUtf8(request.role()), " ",
                                                   ToValidUtf8(request.name()), ": ",
                                                   admitted.status().message()));
    }
    return reply(admitted.status());
  }
  const ClusterNote note{
      event::kSecurityJoined,
      absl::StrCat(request.role(), " ", request.name(), " joined from ", caller.peer,
                   admitted->ended.empty() ? "" : " and replaces the one before")};
  engine_->RecordTrust(std::move(admitted->records), note,
                       [this, response = std::move(admitted->response),
                        ended = std::move(admitted->ended), reply](const absl::Status& status) {
                         if (!status.ok()) return reply(status);
                         gate_->EndCallsOf(ended, absl::UnauthenticatedError(
                                                      "another PC has taken this one's place"));
                         reply(response);
                       });
}

absl::StatusOr<JoinHandlers::Admitted> JoinHandlers::Admit(const Caller& caller,
                                                           const v1::JoinRequest& request) {
  const absl::Time now = engine_->now().wall;
  HPC_ASSIGN_OR_RETURN(const pki::Role role, pki::ParseRole(request.role()));
  HPC_RETURN_IF_ERROR(CheckNodeName(request.name()));
  // Everything that may be wrong is checked before a use of the token is taken.
  HPC_RETURN_IF_ERROR(pki::SigningRequest::FromPem(request.signing_request()).status());
  HPC_RETURN_IF_ERROR(CheckClock(absl::FromUnixMicros(request.now_us()), now));
  const bool named = trust_->roster.IsNamed(request.secret());
  if (IsPerson(role) && !named && IsLocalAccount(request.name())) {
    return absl::AlreadyExistsError(absl::StrCat(
        request.name(), " is an account of the coordinator's machine. If it is yours, use the ",
        "token of: hpcctl token create --role ", pki::RoleName(role), " --name ", request.name(),
        "; else choose another name with --name"));
  }
  HPC_ASSIGN_OR_RETURN(Roster::Admission admission,
                       trust_->roster.Redeem(now, request.secret(), role, request.name()));
  HPC_ASSIGN_OR_RETURN(const pki::Certificate certificate,
                       Issue(request.signing_request(), role, request.name()));
  const CertificateRecord record = RecordOf(certificate, role, request.name(), caller.peer);
  trust_->roster.Add(record);

  Admitted admitted;
  admitted.response.set_certificate(certificate.ToPem());
  admitted.response.set_authorities(trust_->keyring.TrustedPem(now));
  admitted.response.set_now_us(ToMicros(now));
  admitted.records = {admission.token, record};
  for (CertificateRecord& old : admission.replaced) {
    admitted.ended.push_back(old.serial);
    admitted.records.emplace_back(std::move(old));
  }
  return admitted;
}

absl::StatusOr<pki::Certificate> JoinHandlers::Issue(const std::string& signing_request,
                                                     pki::Role role, const std::string& name) {
  HPC_ASSIGN_OR_RETURN(const pki::SigningRequest request,
                       pki::SigningRequest::FromPem(signing_request));
  return trust_->keyring.Sign(request, role, name, engine_->now().wall, pki::kMemberLifetime);
}

CertificateRecord JoinHandlers::RecordOf(const pki::Certificate& certificate, pki::Role role,
                                         const std::string& name, const std::string& peer) const {
  CertificateRecord record;
  record.serial = certificate.Serial();
  record.role = role;
  record.name = name;
  record.issued_at = engine_->now().wall;
  record.expires_at = certificate.not_after();
  record.issued_to = peer;
  return record;
}

void JoinHandlers::Renew(const Caller& caller, const v1::RenewRequest& request,
                         Reply<v1::RenewResponse> reply) {
  if (absl::Status status = NeedTrust(trust_); !status.ok()) return reply(status);
  if (caller.serial.empty()) {
    return reply(absl::FailedPreconditionError(
        "only a certificate can be renewed, and this call came without one"));
  }
  const absl::StatusOr<pki::Role> role = pki::ParseRole(StandingName(caller.standing));
  if (!role.ok()) return reply(role.status());
  const absl::StatusOr<pki::Certificate> certificate =
      Issue(request.signing_request(), *role, caller.user);
  if (!certificate.ok()) return reply(certificate.status());
  const CertificateRecord record = RecordOf(*certificate, *role, caller.user, caller.peer);
  trust_->roster.Add(record);
  v1::RenewResponse response;
  response.set_certificate(certificate->ToPem());
  response.set_authorities(trust_->keyring.TrustedPem(engine_->now().wall));
  engine_->RecordTrust(
      {record},
      {event::kSecurityJoined, absl::StrCat(pki::RoleName(*role), " ", caller.user,
                                            " renewed its certificate from ", caller.peer)},
      [reply, response](const absl::Status& status) {
        if (!status.ok()) return reply(status);
        reply(response);
      });
}

}  // namespace hpc::coordinator
