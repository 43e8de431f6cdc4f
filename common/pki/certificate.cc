#include "common/pki/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <ctime>

#include "absl/strings/ascii.h"
#include "common/pki/openssl.h"
#include "common/pki/private_key.h"

namespace hpc::pki {
namespace {

absl::Time FromAsn1(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTimeT(timegm(&parts));
}

}  // namespace

Certificate Certificate::Own(x509_st* x509) {
  return Certificate(std::shared_ptr<X509>(x509, &X509_free));
}

absl::StatusOr<Certificate> Certificate::FromPem(absl::string_view pem) {
  const BioPtr bio = ReadFrom(pem);
  X509* const x509 = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr);
  if (x509 == nullptr) {
    return OpenSslError(absl::StatusCode::kInvalidArgument, "not a certificate in PEM");
  }
  return Own(x509);
}

std::string Certificate::ToPem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), x509_.get());
  return Written(bio.get());
}

std::string Certificate::Serial() const {
  BIGNUM* const number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x509_.get()), nullptr);
  char* const digits = BN_bn2hex(number);
  std::string serial = absl::AsciiStrToLower(digits);
  OPENSSL_free(digits);
  BN_free(number);
  return serial;
}

absl::StatusOr<Identity> Certificate::GetIdentity() const {
  const GeneralNamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(x509_.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* const uri = name->d.uniformResourceIdentifier;
    return ParseIdentityUri(
        absl::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                          static_cast<size_t>(ASN1_STRING_length(uri))));
  }
  return absl::InvalidArgumentError("the certificate names no member of a cluster");
}

absl::Time Certificate::not_before() const { return FromAsn1(X509_get0_notBefore(x509_.get())); }
absl::Time Certificate::not_after() const { return FromAsn1(X509_get0_notAfter(x509_.get())); }

std::string Certificate::PublicKeyHash() const {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x509_.get()), &der);
  if (size < 0) return "";
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(der, static_cast<size_t>(size), reinterpret_cast<unsigned char*>(hash.data()));
  OPENSSL_free(der);
  return hash;
}

bool Certificate::IsSelfSigned() const {
  const bool self_signed = X509_self_signed(x509_.get(), /*verify_signature=*/1) == 1;
  ERR_clear_error();
  return self_signed;
}

bool Certificate::IsOf(const PrivateKey& key) const {
  const bool fits = X509_check_private_key(x509_.get(), key.get()) == 1;
  ERR_clear_error();
  return fits;
}

absl::StatusOr<std::vector<Certificate>> CertificatesFromPem(absl::string_view pem) {
  const BioPtr bio = ReadFrom(pem);
  std::vector<Certificate> all;
  while (X509* const x509 = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    all.push_back(Certificate::Own(x509));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (all.empty() || !at_end) {
    return OpenSslError(absl::StatusCode::kInvalidArgument, "not certificates in PEM");
  }
  ERR_clear_error();
  return all;
}

}  // namespace hpc::pki
