#include "coordinator/rpc/handlers/certificate_handlers.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/values/event_kinds.h"
#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/limits.h"

namespace hpc::coordinator {
namespace {

constexpr absl::Duration kKeepOldAuthority = absl::Hours(24 * 30);
// A connected worker checks every ten minutes whether it has to renew its certificate.
constexpr absl::Duration kShortestKeep = absl::Minutes(30);

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

}  // namespace

void CertificateHandlers::ListCertificates(const Caller&,
                                           const v1::ListCertificatesRequest& request,
                                           Reply<v1::ListCertificatesResponse> reply) {
  if (absl::Status status = NeedTrust(trust_); !status.ok()) return reply(status);
  const absl::Time now = engine_->now().wall;
  v1::ListCertificatesResponse response;
  for (const CertificateRecord& certificate : trust_->roster.Certificates()) {
    const bool valid = !certificate.revoked() && certificate.expires_at > now;
    if (valid || request.all()) *response.add_certificates() = ToProto(certificate);
  }
  reply(response);
}

void CertificateHandlers::RevokeCertificate(const Caller& caller,
                                            const v1::RevokeCertificateRequest& request,
                                            Reply<v1::RevokeCertificateResponse> reply) {
  if (absl::Status status = NeedTrust(trust_); !status.ok()) return reply(status);
  if (absl::Status status = CheckText("the reason", request.reason()); !status.ok()) {
    return reply(status);
  }
  const absl::StatusOr<Roster::Revocation> revoked =
      trust_->roster.Revoke(engine_->now().wall, request.subject(), WhoIs(caller),
                            CleanText(request.reason(), kMaxReason));
  if (!revoked.ok()) return reply(revoked.status());
  std::vector<TrustRecord> records(revoked->certificates.begin(), revoked->certificates.end());
  records.insert(records.end(), revoked->tokens.begin(), revoked->tokens.end());
  std::vector<std::string> serials;
  for (const CertificateRecord& one : revoked->certificates) serials.push_back(one.serial);
  const pki::Role role = revoked->certificates.front().role;
  const std::string name = revoked->certificates.front().name;
  const std::string member = absl::StrCat(pki::RoleName(role), " ", name);
  const std::string why = request.reason().empty() ? "" : ": " + request.reason();
  if (revoked->shut_out && role == pki::Role::kWorker) {
    engine_->ShutOut(name, absl::StrCat("revoked by ", WhoIs(caller), why));
  }
  const auto tokens = static_cast<int32_t>(revoked->tokens.size());
  const ClusterNote note{
      event::kSecurityRevoked,
      absl::StrCat(
          WhoIs(caller), " revoked ", Count(static_cast<int64_t>(serials.size()), "certificate"),
          tokens > 0 ? absl::StrCat(" and ", Count(tokens, "token")) : "", " of ", member, why),
      Severity::kWarning};
  engine_->RecordTrust(
      std::move(records), note, [this, serials, tokens, member, reply](const absl::Status& status) {
        if (!status.ok()) return reply(status);
        gate_->EndCallsOf(serials, absl::UnauthenticatedError(absl::StrCat(
                                       "the certificate of ", member, " was revoked")));
        v1::RevokeCertificateResponse response;
        response.set_certificates(static_cast<int32_t>(serials.size()));
        response.set_tokens(tokens);
        reply(response);
      });
}

void CertificateHandlers::RotateAuthority(const Caller& caller,
                                          const v1::RotateAuthorityRequest& request,
                                          Reply<v1::RotateAuthorityResponse> reply) {
  if (absl::Status status = NeedTrust(trust_); !status.ok()) return reply(status);
  const absl::Time now = engine_->now().wall;
  const absl::Duration keep =
      request.keep_old_s() == 0 ? kKeepOldAuthority : absl::Seconds(request.keep_old_s());
  if (keep < kShortestKeep || keep > pki::kAuthorityLifetime) {
    return reply(absl::InvalidArgumentError(absl::StrCat(
        "the old authority can be trusted for another 30 minutes to 20 years, not for ",
        HumanDuration(keep),
        ": connected workers need the time to renew their certificates, and "
        "members that are away are locked out when it is over")));
  }
  const absl::Time until = now + keep;
  absl::Status rotated = trust_->keyring.Rotate(now, until);
  if (rotated.ok()) rotated = gate_->ChangeAuthority();
  if (!rotated.ok()) return reply(rotated);
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

void CertificateHandlers::WhoAmI(const Caller& caller, const v1::WhoAmIRequest&,
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
