#include "coordinator/rpc/trust_handlers.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/pki/join_token.h"
#include "common/pki/random.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/core/event_kinds.h"
#include "coordinator/rpc/convert_common.h"
#include "coordinator/rpc/doorman.h"
#include "coordinator/rpc/limits.h"

namespace hpc::coordinator {
namespace {

constexpr absl::Duration kKeepOldAuthority = absl::Hours(24 * 30);
// Beyond this a certificate that is made now would not work there now, or not for long.
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

v1::Token ToProto(const TokenRecord& token, absl::Time now) {
  v1::Token out;
  out.set_id(token.id);
  out.set_role(std::string(pki::RoleName(token.role)));
  out.set_name(token.name);
  out.set_uses_left(token.uses_left);
  out.set_created_by(token.created_by);
  out.set_created_at_us(ToMicros(token.created_at));
  out.set_expires_at_us(ToMicros(token.expires_at));
  out.set_state(std::string(TokenState(token, now)));
  return out;
}

v1::CertificateInfo ToProto(const CertificateRecord& certificate) {
  v1::CertificateInfo out;
  out.set_serial(certificate.serial);
  out.set_role(std::string(pki::RoleName(certificate.role)));
  out.set_name(certificate.name);
  out.set_issued_at_us(ToMicros(certificate.issued_at));
  out.set_expires_at_us(ToMicros(certificate.expires_at));
  out.set_issued_to(certificate.issued_to);
  if (certificate.revoked()) out.set_revoked_at_us(ToMicros(certificate.revoked_at));
  out.set_revoked_by(certificate.revoked_by);
  out.set_reason(certificate.reason);
  return out;
}

std::string Member(pki::Role role, const std::string& name) {
  return absl::StrCat(pki::RoleName(role), " ", name);
}

}  // namespace

TrustHandlers::TrustHandlers(Engine* engine, Trust* trust, std::vector<Endpoint> addresses)
    : engine_(engine), trust_(trust), addresses_(std::move(addresses)), bad_tokens_(kBadTokens) {}

absl::Status TrustHandlers::CheckTrust() const {
  if (trust_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this coordinator has no authority: run hpcctl cluster init on its machine once, then start "
      "it without --insecure");
}

// -------------------------------------------------------------------------------------- joining

void TrustHandlers::Join(const Caller& caller, const v1::JoinRequest& request,
                         Reply<v1::JoinResponse> reply) {
  if (absl::Status status = CheckTrust(); !status.ok()) return reply(status);
  const MonoTime now = engine_->now().mono;
  if (!bad_tokens_.Has(caller.peer, now)) {
    return reply(absl::ResourceExhaustedError(
        absl::StrCat("too many bad tokens came from ", caller.peer, "; try again in ",
                     HumanDuration(bad_tokens_.Wait(caller.peer, now)))));
  }
  absl::StatusOr<Admitted> admitted = Admit(caller, request);
  if (!admitted.ok()) {
    if (absl::IsUnauthenticated(admitted.status())) bad_tokens_.Allow(caller.peer, now);
    host_->doorman->NoteRefusal(
        caller.peer, absl::StrCat("to join as ", ToValidUtf8(request.role()), " ",
                                  ToValidUtf8(request.name()), ": ", admitted.status().message()));
    return reply(admitted.status());
  }
  const SecurityNote note{
      event::kSecurityJoined,
      absl::StrCat(request.role(), " ", request.name(), " joined from ", caller.peer,
                   admitted->ended.empty() ? "" : " and replaces the one before")};
  engine_->RecordTrust(std::move(admitted->records), note,
                       [this, response = std::move(admitted->response),
                        ended = std::move(admitted->ended), reply](const absl::Status& status) {
                         if (!status.ok()) return reply(status);
                         host_->open.StopOf(ended, absl::UnauthenticatedError(
                                                       "another PC has taken this one's place"));
                         reply(response);
                       });
}

absl::StatusOr<TrustHandlers::Admitted> TrustHandlers::Admit(const Caller& caller,
                                                             const v1::JoinRequest& request) {
  const absl::Time now = engine_->now().wall;
  HPC_ASSIGN_OR_RETURN(const pki::Role role, pki::ParseRole(request.role()));
  HPC_RETURN_IF_ERROR(CheckNodeName(request.name()));
  // All that may be wrong, before a use of the token is taken.
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

absl::StatusOr<pki::Certificate> TrustHandlers::Issue(const std::string& signing_request,
                                                      pki::Role role, const std::string& name) {
  HPC_ASSIGN_OR_RETURN(const pki::SigningRequest request,
                       pki::SigningRequest::FromPem(signing_request));
  return trust_->keyring.Sign(request, role, name, engine_->now().wall, pki::kMemberLifetime);
}

CertificateRecord TrustHandlers::RecordOf(const pki::Certificate& certificate, pki::Role role,
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

void TrustHandlers::Renew(const Caller& caller, const v1::RenewRequest& request,
                          Reply<v1::RenewResponse> reply) {
  if (absl::Status status = CheckTrust(); !status.ok()) return reply(status);
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
      {event::kSecurityJoined,
       absl::StrCat(Member(*role, caller.user), " renewed its certificate from ", caller.peer)},
      [reply, response](const absl::Status& status) {
        if (!status.ok()) return reply(status);
        reply(response);
      });
}

// --------------------------------------------------------------------------------------- tokens

absl::StatusOr<std::string> TrustHandlers::MakeToken(const TokenRecord& token,
                                                     const std::string& secret,
                                                     const v1::CreateTokenRequest& request) const {
  pki::JoinToken line;
  line.role = token.role;
  line.secret = secret;
  line.authority_hash = trust_->keyring.AuthorityHash();
  line.addresses = addresses_;
  if (request.addresses_size() > 0) line.addresses.clear();
  for (const std::string& text : request.addresses()) {
    HPC_ASSIGN_OR_RETURN(Endpoint address, ParseEndpoint(text));
    if (address.is_unix || address.port == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, ": a token carries addresses as 192.168.1.10:7077"));
    }
    line.addresses.push_back(std::move(address));
  }
  if (line.addresses.empty()) {
    return absl::FailedPreconditionError(
        "the coordinator listens for local users only: start it with --listen, or name an address "
        "that leads to it with --address");
  }
  if (line.addresses.size() > pki::kMaxTokenAddresses) {
    return absl::InvalidArgumentError(
        absl::StrCat("a token carries at most ", pki::kMaxTokenAddresses, " addresses"));
  }
  return pki::FormatJoinToken(line);
}

void TrustHandlers::CreateToken(const Caller& caller, const v1::CreateTokenRequest& request,
                                Reply<v1::CreateTokenResponse> reply) {
  if (absl::Status status = CheckTrust(); !status.ok()) return reply(status);
  TokenRequest wanted;
  wanted.by = WhoIs(caller);
  wanted.name = request.name();
  if (request.uses() != 0) wanted.uses = request.uses();
  if (request.lifetime_s() != 0) wanted.lifetime = absl::Seconds(request.lifetime_s());
  if (!request.role().empty()) {
    const absl::StatusOr<pki::Role> role = pki::ParseRole(request.role());
    if (!role.ok()) return reply(role.status());
    wanted.role = *role;
  }
  const absl::StatusOr<std::string> secret = pki::RandomBytes(pki::kTokenSecretBytes);
  if (!secret.ok()) return reply(secret.status());
  TokenRecord draft;
  draft.role = wanted.role;
  const absl::StatusOr<std::string> line = MakeToken(draft, *secret, request);
  if (!line.ok()) return reply(line.status());
  const absl::StatusOr<TokenRecord> token =
      trust_->roster.CreateToken(engine_->now().wall, wanted, *secret);
  if (!token.ok()) return reply(token.status());
  v1::CreateTokenResponse response;
  response.set_token(*line);
  response.set_id(token->id);
  response.set_expires_at_us(ToMicros(token->expires_at));
  engine_->RecordTrust(
      {*token},
      {event::kSecurityToken,
       absl::StrCat(wanted.by, " made the token ", token->id, " for ",
                    Count(token->uses_left, "use"), " as ", pki::RoleName(token->role),
                    token->name.empty() ? "" : " ", token->name)},
      [reply, response](const absl::Status& status) {
        if (!status.ok()) return reply(status);
        reply(response);
      });
}

void TrustHandlers::ListTokens(const Caller&, const v1::ListTokensRequest&,
                               Reply<v1::ListTokensResponse> reply) {
  if (absl::Status status = CheckTrust(); !status.ok()) return reply(status);
  v1::ListTokensResponse response;
  for (const TokenRecord& token : trust_->roster.Tokens()) {
    *response.add_tokens() = ToProto(token, engine_->now().wall);
  }
  reply(response);
}

void TrustHandlers::RevokeToken(const Caller& caller, const v1::RevokeTokenRequest& request,
                                Reply<v1::RevokeTokenResponse> reply) {
  if (absl::Status status = CheckTrust(); !status.ok()) return reply(status);
  const absl::StatusOr<TokenRecord> token = trust_->roster.RevokeToken(request.id());
  if (!token.ok()) return reply(token.status());
  engine_->RecordTrust(
      {*token},
      {event::kSecurityToken, absl::StrCat(WhoIs(caller), " revoked the token ", token->id)},
      [reply](const absl::Status& status) {
        if (!status.ok()) return reply(status);
        reply(v1::RevokeTokenResponse());
      });
}

// --------------------------------------------------------------------------------- certificates

void TrustHandlers::ListCertificates(const Caller&, const v1::ListCertificatesRequest& request,
                                     Reply<v1::ListCertificatesResponse> reply) {
  if (absl::Status status = CheckTrust(); !status.ok()) return reply(status);
  const absl::Time now = engine_->now().wall;
  v1::ListCertificatesResponse response;
  for (const CertificateRecord& certificate : trust_->roster.Certificates()) {
    const bool valid = !certificate.revoked() && certificate.expires_at > now;
    if (valid || request.all()) *response.add_certificates() = ToProto(certificate);
  }
  reply(response);
}

void TrustHandlers::RevokeCertificate(const Caller& caller,
                                      const v1::RevokeCertificateRequest& request,
                                      Reply<v1::RevokeCertificateResponse> reply) {
  if (absl::Status status = CheckTrust(); !status.ok()) return reply(status);
  if (absl::Status status = CheckText("the reason", request.reason()); !status.ok()) {
    return reply(status);
  }
  const absl::StatusOr<std::vector<CertificateRecord>> revoked =
      trust_->roster.Revoke(engine_->now().wall, request.subject(), WhoIs(caller),
                            CleanText(request.reason(), kMaxReason));
  if (!revoked.ok()) return reply(revoked.status());
  std::vector<TrustRecord> records(revoked->begin(), revoked->end());
  std::vector<std::string> serials;
  for (const CertificateRecord& one : *revoked) serials.push_back(one.serial);
  const std::string member = Member(revoked->front().role, revoked->front().name);
  const SecurityNote note{
      event::kSecurityRevoked,
      absl::StrCat(WhoIs(caller), " revoked ",
                   Count(static_cast<int64_t>(serials.size()), "certificate"), " of ", member,
                   request.reason().empty() ? "" : ": ", request.reason()),
      Severity::kWarning};
  engine_->RecordTrust(
      std::move(records), note, [this, serials, member, reply](const absl::Status& status) {
        if (!status.ok()) return reply(status);
        host_->open.StopOf(serials, absl::UnauthenticatedError(absl::StrCat(
                                        "the certificate of ", member, " was revoked")));
        v1::RevokeCertificateResponse response;
        response.set_certificates(static_cast<int32_t>(serials.size()));
        reply(response);
      });
}

// ------------------------------------------------------------------------------------ authority

void TrustHandlers::RotateAuthority(const Caller& caller, const v1::RotateAuthorityRequest& request,
                                    Reply<v1::RotateAuthorityResponse> reply) {
  if (absl::Status status = CheckTrust(); !status.ok()) return reply(status);
  const absl::Time now = engine_->now().wall;
  const absl::Duration keep =
      request.keep_old_s() == 0 ? kKeepOldAuthority : absl::Seconds(request.keep_old_s());
  if (keep < absl::ZeroDuration() || keep > pki::kAuthorityLifetime) {
    return reply(absl::InvalidArgumentError("the old authority is kept for 1 s to 20 years"));
  }
  const absl::Time until = now + keep;
  absl::Status rotated = trust_->keyring.Rotate(now, until);
  if (rotated.ok()) rotated = trust_->keyring.IssueCoordinator(now, pki::kCoordinatorLifetime);
  if (!rotated.ok()) return reply(rotated);
  host_->doorman->ForgetVerified();
  std::vector<TrustRecord> records;
  for (TokenRecord& token : trust_->roster.RevokeAllTokens(now)) records.emplace_back(token);
  v1::RotateAuthorityResponse response;
  response.set_old_trusted_until_us(ToMicros(until));
  engine_->RecordTrust(
      std::move(records),
      {event::kSecurityRotated,
       absl::StrCat(WhoIs(caller), " made a new authority; the old one is trusted ", "until ",
                    HumanTime(until)),
       Severity::kWarning},
      [reply, response](const absl::Status& status) {
        if (!status.ok()) return reply(status);
        reply(response);
      });
}

void TrustHandlers::WhoAmI(const Caller& caller, const v1::WhoAmIRequest&,
                           Reply<v1::WhoAmIResponse> reply) {
  v1::WhoAmIResponse response;
  response.set_role(std::string(StandingName(caller.standing)));
  response.set_name(caller.user);
  if (!caller.serial.empty()) {
    response.set_by("certificate");
    response.set_expires_at_us(ToMicros(caller.expires_at));
  } else {
    response.set_by(caller.standing == Standing::kAnyone ? "nothing (insecure)" : "unix socket");
  }
  reply(response);
}

}  // namespace hpc::coordinator
