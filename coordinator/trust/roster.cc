#include "coordinator/trust/roster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/pki/join_token.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::coordinator {
namespace {

using pki::Role;

// One name is one person, whatever their role is. A PC may have the same name as a person.
bool SameNamespace(Role a, Role b) { return (a == Role::kWorker) == (b == Role::kWorker); }

bool IsValid(const CertificateRecord& certificate, absl::Time now) {
  return !certificate.revoked() && certificate.expires_at > now;
}

absl::Status CheckRequest(const TokenRequest& request) {
  if (request.role == Role::kCoordinator) {
    return absl::InvalidArgumentError("nobody joins as a coordinator: worker, user or admin");
  }
  if (!request.name.empty()) {
    HPC_RETURN_IF_ERROR(CheckNodeName(request.name));
    if (request.uses != 1 && request.role == Role::kWorker) {
      return absl::InvalidArgumentError(absl::StrCat("a token for the PC ", request.name,
                                                     " works once, not ", request.uses, " times"));
    }
  }
  if (request.uses < 1 || request.uses > kMaxTokenUses) {
    return absl::InvalidArgumentError(
        absl::StrCat("a token works 1 to ", kMaxTokenUses, " times, not ", request.uses));
  }
  if (request.lifetime <= absl::ZeroDuration() || request.lifetime > kMaxTokenLifetime) {
    return absl::InvalidArgumentError(absl::StrCat("a token lasts at most ",
                                                   HumanDuration(kMaxTokenLifetime), ", not ",
                                                   HumanDuration(request.lifetime)));
  }
  return absl::OkStatus();
}

absl::Status CheckUsable(const TokenRecord& token, absl::Time now) {
  const absl::string_view state = TokenState(token, now);
  if (state == "usable") return absl::OkStatus();
  const std::string since =
      state == "expired" ? absl::StrCat(" at ", HumanTime(token.expires_at)) : "";
  return absl::UnauthenticatedError(
      absl::StrCat("the token ", token.id, state == "expired" ? " " : " is ", state, since,
                   "; ask for another: hpcctl token create --role ", pki::RoleName(token.role),
                   token.name.empty() ? "" : " --name ", token.name));
}

}  // namespace

absl::string_view TokenState(const TokenRecord& token, absl::Time now) {
  if (token.revoked) return "revoked";
  if (token.uses_left == 0) return "used up";
  if (token.expires_at <= now) return "expired";
  return "usable";
}

Roster::Roster(TrustSnapshot snapshot) {
  for (TokenRecord& token : snapshot.tokens) {
    std::string key = token.secret_hash;
    tokens_.emplace(std::move(key), std::move(token));
  }
  for (const CertificateRecord& certificate : snapshot.certificates) Add(certificate);
}

// -------------------------------------------------------------------------------------- tokens

absl::StatusOr<TokenRecord> Roster::CreateToken(absl::Time now, const TokenRequest& request,
                                                absl::string_view secret) {
  HPC_RETURN_IF_ERROR(CheckRequest(request));
  HPC_RETURN_IF_ERROR(CheckUnlike(now, request.role, request.name));
  TokenRecord token;
  token.id = pki::TokenId(secret);
  token.secret_hash = pki::SecretHash(secret);
  token.role = request.role;
  token.name = request.name;
  token.uses_left = request.uses;
  token.created_by = request.by;
  token.created_at = now;
  token.expires_at = now + request.lifetime;
  tokens_[token.secret_hash] = token;
  return token;
}

absl::StatusOr<TokenRecord> Roster::RevokeToken(absl::string_view id) {
  for (auto& [hash, token] : tokens_) {
    if (token.id != id) continue;
    token.revoked = true;
    return token;
  }
  return absl::NotFoundError(
      absl::StrCat("no token ", id, "; hpcctl token list shows those that there are"));
}

std::vector<TokenRecord> Roster::RevokeAllTokens(absl::Time now) {
  return RevokeTokens(now, [](const TokenRecord&) { return true; });
}

std::vector<TokenRecord> Roster::RevokeTokens(absl::Time now,
                                              absl::FunctionRef<bool(const TokenRecord&)> meant) {
  std::vector<TokenRecord> revoked;
  for (auto& [hash, token] : tokens_) {
    if (TokenState(token, now) != "usable" || !meant(token)) continue;
    token.revoked = true;
    revoked.push_back(token);
  }
  return revoked;
}

std::vector<TokenRecord> Roster::Tokens() const {
  std::vector<TokenRecord> all;
  for (const auto& [hash, token] : tokens_) all.push_back(token);
  std::sort(all.begin(), all.end(), [](const TokenRecord& a, const TokenRecord& b) {
    return std::tie(b.created_at, b.id) < std::tie(a.created_at, a.id);
  });
  return all;
}

// Everybody but the machine would take Anna and anna for the same person.
absl::Status Roster::CheckUnlike(absl::Time now, Role role, const std::string& name) const {
  for (const auto& [serial, certificate] : certificates_) {
    if (certificate.name == name || !absl::EqualsIgnoreCase(certificate.name, name) ||
        !SameNamespace(certificate.role, role) || !IsValid(certificate, now)) {
      continue;
    }
    return absl::AlreadyExistsError(absl::StrCat(
        certificate.name, " is a member already, and ", name, " differs from that only in capital ",
        "letters: choose another name, or ", certificate.name, " if that is meant"));
  }
  return absl::OkStatus();
}

absl::Status Roster::CheckName(absl::Time now, const TokenRecord& token, const std::string& name) {
  HPC_RETURN_IF_ERROR(CheckNodeName(name));
  HPC_RETURN_IF_ERROR(CheckUnlike(now, token.role, name));
  if (!token.name.empty()) {
    if (token.name == name) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat("the token ", token.id, " is for ", token.name,
                                                    ", not for ", name, ": give --name ",
                                                    token.name, " with it"));
  }
  if (ValidOf(now, token.role, name).empty()) {
    if (!WasRevoked(token.role, name)) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(
        name, " was revoked (hpcctl cert list --all), and only a token that is made for the name ",
        "lets it in again: hpcctl token create --role ", pki::RoleName(token.role), " --name ",
        name));
  }
  if (token.role == Role::kWorker) {
    return absl::AlreadyExistsError(absl::StrCat(
        "a PC named ", name, " is a member already. Give this one another name, or, if it takes ",
        "the other's place, use the token of: hpcctl token create --name ", name));
  }
  return absl::AlreadyExistsError(absl::StrCat(
      "somebody named ", name, " is a member already. If that is you, on another computer, use ",
      "the token of: hpcctl token create --role ", pki::RoleName(token.role), " --name ", name));
}

absl::StatusOr<Roster::Admission> Roster::Redeem(absl::Time now, absl::string_view secret,
                                                 Role role, const std::string& name) {
  const auto found = tokens_.find(pki::SecretHash(secret));
  if (found == tokens_.end()) {
    return absl::UnauthenticatedError(
        "this cluster never gave out that token, or has forgotten it; ask for another: hpcctl "
        "token create");
  }
  TokenRecord& token = found->second;
  if (token.role != role) {
    return absl::PermissionDeniedError(absl::StrCat("the token ", token.id, " is for ",
                                                    pki::RoleName(token.role), "s, not for ",
                                                    pki::RoleName(role), "s"));
  }
  HPC_RETURN_IF_ERROR(CheckUsable(token, now));
  HPC_RETURN_IF_ERROR(CheckName(now, token, name));
  Admission admission;
  if (role == Role::kWorker) {
    for (CertificateRecord* const old : ValidOf(now, role, name)) {
      old->revoked_at = now;
      old->revoked_by = token.created_by;
      old->reason = absl::StrCat("replaced with the token ", token.id);
      admission.replaced.push_back(*old);
    }
  }
  --token.uses_left;
  admission.token = token;
  return admission;
}

bool Roster::IsNamed(absl::string_view secret) const {
  const auto found = tokens_.find(pki::SecretHash(secret));
  return found != tokens_.end() && !found->second.name.empty();
}

// -------------------------------------------------------------------------------- certificates

void Roster::Add(const CertificateRecord& certificate) {
  certificates_[certificate.serial] = certificate;
}

absl::Status Roster::CheckNotRevoked(const std::string& serial) const {
  const auto found = certificates_.find(serial);
  if (found == certificates_.end() || !found->second.revoked()) return absl::OkStatus();
  const CertificateRecord& certificate = found->second;
  return absl::UnauthenticatedError(absl::StrCat(
      "the certificate of ", pki::RoleName(certificate.role), " ", certificate.name,
      " was revoked at ", HumanTime(certificate.revoked_at), " by ", certificate.revoked_by,
      certificate.reason.empty() ? "" : ": ", certificate.reason));
}

bool Roster::WasRevoked(Role role, const std::string& name) const {
  return std::any_of(certificates_.begin(), certificates_.end(), [&](const auto& entry) {
    const CertificateRecord& certificate = entry.second;
    return certificate.name == name && SameNamespace(certificate.role, role) &&
           certificate.revoked();
  });
}

bool Roster::IsMember(absl::Time now, Role role, const std::string& name) const {
  return std::any_of(certificates_.begin(), certificates_.end(), [&](const auto& entry) {
    const CertificateRecord& certificate = entry.second;
    return certificate.name == name && certificate.role == role && IsValid(certificate, now);
  });
}

std::vector<CertificateRecord*> Roster::ValidOf(absl::Time now, Role role,
                                                const std::string& name) {
  std::vector<CertificateRecord*> valid;
  for (auto& [serial, certificate] : certificates_) {
    if (certificate.name == name && SameNamespace(certificate.role, role) &&
        IsValid(certificate, now)) {
      valid.push_back(&certificate);
    }
  }
  return valid;
}

absl::StatusOr<Roster::Revocation> Roster::Revoke(absl::Time now, absl::string_view subject,
                                                  const std::string& by,
                                                  const std::string& reason) {
  std::vector<CertificateRecord*> meant;
  std::set<std::string> members;
  for (auto& [serial, certificate] : certificates_) {
    const std::string member = absl::StrCat(pki::RoleName(certificate.role), "/", certificate.name);
    if (!IsValid(certificate, now) ||
        (subject != serial && subject != member && subject != certificate.name)) {
      continue;
    }
    meant.push_back(&certificate);
    members.insert(member);
  }
  if (meant.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "nobody called ", subject, " has a valid certificate; hpcctl cert list shows who has one"));
  }
  if (members.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        subject, " may be ", JoinWords({members.begin(), members.end()}), ": name one of them so"));
  }
  Revocation revocation;
  for (CertificateRecord* const certificate : meant) {
    certificate->revoked_at = now;
    certificate->revoked_by = by;
    certificate->reason = reason;
    revocation.certificates.push_back(*certificate);
  }
  const Role role = meant.front()->role;
  const std::string& name = meant.front()->name;
  revocation.shut_out = !IsMember(now, role, name);
  if (revocation.shut_out) {
    revocation.tokens = RevokeTokens(
        now, [&](const TokenRecord& token) { return token.role == role && token.name == name; });
  }
  return revocation;
}

std::vector<CertificateRecord> Roster::Certificates() const {
  std::vector<CertificateRecord> all;
  for (const auto& [serial, certificate] : certificates_) all.push_back(certificate);
  std::sort(all.begin(), all.end(), [](const CertificateRecord& a, const CertificateRecord& b) {
    return std::tie(b.issued_at, b.serial) < std::tie(a.issued_at, a.serial);
  });
  return all;
}

}  // namespace hpc::coordinator
