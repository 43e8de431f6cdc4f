// Tokens and certificates.
#include "coordinator/store/row_columns.h"
#include "coordinator/store/rows.h"

namespace hpc::coordinator {
namespace {

pki::Role ReadRole(Row& row) {
  const absl::StatusOr<pki::Role> role = pki::ParseRole(row.Text());
  if (!role.ok()) row.Reject(role.status().message());
  return role.value_or(pki::Role::kUser);
}

}  // namespace

constexpr Table kTokens = {
    "tokens", "id",
    "secret_hash, role, name, uses_left, created_by, created_at, expires_at, revoked"};

void Bind(const TokenRecord& token, Statement& to) {
  to.Text(token.id)
      .Text(token.secret_hash)
      .Text(pki::RoleName(token.role))
      .Text(token.name)
      .Int(token.uses_left)
      .Text(token.created_by)
      .Time(token.created_at)
      .Time(token.expires_at)
      .Int(token.revoked);
}

TokenRecord ReadToken(Row& row) {
  TokenRecord token;
  token.id = row.Text();
  token.secret_hash = row.Text();
  token.role = ReadRole(row);
  token.name = row.Text();
  token.uses_left = row.Int32();
  token.created_by = row.Text();
  token.created_at = row.Time(absl::UnixEpoch());
  token.expires_at = row.Time(absl::UnixEpoch());
  token.revoked = row.Bool();
  return token;
}

constexpr Table kCertificates = {
    "certificates", "serial",
    "role, name, issued_at, expires_at, issued_to, revoked_at, revoked_by, reason"};

void Bind(const CertificateRecord& certificate, Statement& to) {
  to.Text(certificate.serial)
      .Text(pki::RoleName(certificate.role))
      .Text(certificate.name)
      .Time(certificate.issued_at)
      .Time(certificate.expires_at)
      .Text(certificate.issued_to)
      .Time(certificate.revoked_at)
      .Text(certificate.revoked_by)
      .Text(certificate.reason);
}

CertificateRecord ReadCertificate(Row& row) {
  CertificateRecord certificate;
  certificate.serial = row.Text();
  certificate.role = ReadRole(row);
  certificate.name = row.Text();
  certificate.issued_at = row.Time(absl::UnixEpoch());
  certificate.expires_at = row.Time(absl::UnixEpoch());
  certificate.issued_to = row.Text();
  certificate.revoked_at = row.Time(absl::InfiniteFuture());
  certificate.revoked_by = row.Text();
  certificate.reason = row.Text();
  return certificate;
}

}  // namespace hpc::coordinator
