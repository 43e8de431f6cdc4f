#include "common/pki/authority.h"

#include "absl/strings/str_cat.h"
#include "common/pki/openssl.h"
#include "common/pki/random.h"
#include "common/status_macros.h"

namespace hpc::pki {
namespace {

constexpr size_t kSerialBytes = 16;

absl::Status Failed(absl::string_view what) {
  return OpenSslError(absl::StatusCode::kInternal,
                      absl::StrCat("cannot make a certificate: ", what));
}

// The number is positive and 128 bits wide. Its 32 digits never begin with a zero.
absl::Status SetRandomSerial(X509* x509) {
  HPC_ASSIGN_OR_RETURN(std::string bytes, RandomBytes(kSerialBytes));
  bytes[0] = static_cast<char>((bytes[0] & 0x7f) | 0x40);
  BIGNUM* const number =
      BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), kSerialBytes, nullptr);
  const bool set = BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != nullptr;
  BN_free(number);
  return set ? absl::OkStatus() : Failed("serial number");
}

absl::Status SetTimes(X509* x509, absl::Time from, absl::Time to) {
  const bool set = ASN1_TIME_set(X509_getm_notBefore(x509), absl::ToTimeT(from)) != nullptr &&
                   ASN1_TIME_set(X509_getm_notAfter(x509), absl::ToTimeT(to)) != nullptr;
  return set ? absl::OkStatus() : Failed("times");
}

absl::Status AddExtension(X509* x509, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, x509, nullptr, nullptr, 0);
  const X509ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (extension == nullptr || X509_add_ext(x509, extension.get(), -1) != 1) return Failed(value);
  return absl::OkStatus();
}

absl::Status SetName(X509_NAME* name, const std::string& text) {
  const int set = X509_NAME_add_entry_by_txt(
      name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0);
  return set == 1 ? absl::OkStatus() : Failed(text);
}

// These extensions mark a certificate as an authority's, whoever signs it. The length of a chain of
// authorities is not limited, because each rotation adds one; members are not authorities.
absl::Status AddAuthorityExtensions(X509* x509, X509* issuer) {
  HPC_RETURN_IF_ERROR(AddExtension(x509, issuer, NID_basic_constraints, "critical,CA:TRUE"));
  HPC_RETURN_IF_ERROR(AddExtension(x509, issuer, NID_key_usage, "critical,keyCertSign"));
  HPC_RETURN_IF_ERROR(AddExtension(x509, issuer, NID_subject_key_identifier, "hash"));
  return AddExtension(x509, issuer, NID_authority_key_identifier, "keyid");
}

absl::StatusOr<Certificate> Signed(X509Ptr x509, const PrivateKey& key) {
  if (X509_sign(x509.get(), key.get(), EVP_sha256()) <= 0) return Failed("signature");
  return Certificate::Own(x509.release());
}

absl::StatusOr<X509Ptr> Begin(const X509_NAME* issuer, EVP_PKEY* public_key, absl::Time now,
                              absl::Duration lifetime) {
  X509Ptr x509(X509_new());
  if (X509_set_version(x509.get(), X509_VERSION_3) != 1) return Failed("version");
  HPC_RETURN_IF_ERROR(SetRandomSerial(x509.get()));
  HPC_RETURN_IF_ERROR(SetTimes(x509.get(), now - kBackdate, now + lifetime));
  if (X509_set_issuer_name(x509.get(), issuer) != 1) return Failed("issuer");
  if (X509_set_pubkey(x509.get(), public_key) != 1) return Failed("public key");
  return x509;
}

}  // namespace

absl::StatusOr<Authority> Authority::Create(const std::string& cluster, absl::Time now) {
  HPC_ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::Generate());
  const X509Ptr named(X509_new());  // carries the name until the certificate exists
  // Chains are built by name, so two authorities of one cluster must have different names.
  HPC_RETURN_IF_ERROR(
      SetName(X509_get_subject_name(named.get()),
              absl::StrCat("hpc cluster ", cluster, " since ",
                           absl::FormatTime("%Y%m%dT%H%M%E6S", now, absl::UTCTimeZone()))));
  X509_NAME* const name = X509_get_subject_name(named.get());
  HPC_ASSIGN_OR_RETURN(X509Ptr x509, Begin(name, key.get(), now, kAuthorityLifetime));
  if (X509_set_subject_name(x509.get(), name) != 1) return Failed("subject");
  HPC_RETURN_IF_ERROR(AddAuthorityExtensions(x509.get(), x509.get()));
  HPC_ASSIGN_OR_RETURN(Certificate certificate, Signed(std::move(x509), key));
  return Authority(std::move(certificate), std::move(key));
}

absl::StatusOr<Authority> Authority::From(const Certificate& certificate, const PrivateKey& key) {
  if (X509_check_ca(certificate.get()) != 1) {
    return absl::InvalidArgumentError("the certificate is not an authority's");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return OpenSslError(absl::StatusCode::kInvalidArgument,
                        "the authority's certificate and key do not belong together");
  }
  return Authority(certificate, key);
}

absl::StatusOr<Certificate> Authority::Sign(const SigningRequest& request, const Identity& identity,
                                            absl::Time now, absl::Duration lifetime) const {
  X509* const issuer = certificate_.get();
  HPC_ASSIGN_OR_RETURN(X509Ptr x509, Begin(X509_get_subject_name(issuer),
                                           X509_REQ_get0_pubkey(request.get()), now, lifetime));
  HPC_RETURN_IF_ERROR(SetName(X509_get_subject_name(x509.get()), identity.name));
  const bool server = identity.role == Role::kCoordinator;
  std::string names = absl::StrCat("URI:", identity.ToUri());
  if (server) absl::StrAppend(&names, ",DNS:", kCoordinatorHost);
  HPC_RETURN_IF_ERROR(AddExtension(x509.get(), issuer, NID_subject_alt_name, names));
  HPC_RETURN_IF_ERROR(AddExtension(x509.get(), issuer, NID_basic_constraints, "critical,CA:FALSE"));
  HPC_RETURN_IF_ERROR(AddExtension(x509.get(), issuer, NID_key_usage, "critical,digitalSignature"));
  HPC_RETURN_IF_ERROR(
      AddExtension(x509.get(), issuer, NID_ext_key_usage, server ? "serverAuth" : "clientAuth"));
  HPC_RETURN_IF_ERROR(AddExtension(x509.get(), issuer, NID_authority_key_identifier, "keyid"));
  return Signed(std::move(x509), key_);
}

absl::StatusOr<Certificate> Authority::CrossSign(const Authority& other, absl::Time now) const {
  X509* const issuer = certificate_.get();
  HPC_ASSIGN_OR_RETURN(X509Ptr x509, Begin(X509_get_subject_name(issuer), other.key_.get(), now,
                                           certificate_.not_after() - now));
  if (X509_set_subject_name(x509.get(), X509_get_subject_name(other.certificate_.get())) != 1) {
    return Failed("subject");
  }
  HPC_RETURN_IF_ERROR(AddAuthorityExtensions(x509.get(), issuer));
  return Signed(std::move(x509), key_);
}

}  // namespace hpc::pki
