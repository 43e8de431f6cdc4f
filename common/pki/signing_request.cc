#include "common/pki/signing_request.h"

#include <openssl/pem.h>

#include "absl/strings/str_cat.h"
#include "common/pki/openssl.h"

namespace hpc::pki {

absl::StatusOr<SigningRequest> SigningRequest::Make(const PrivateKey& key) {
  std::shared_ptr<X509_REQ> request(X509_REQ_new(), &X509_REQ_free);
  if (X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) <= 0) {
    return OpenSslError(absl::StatusCode::kInternal, "cannot make a signing request");
  }
  return SigningRequest(std::move(request));
}

absl::StatusOr<SigningRequest> SigningRequest::FromPem(absl::string_view pem) {
  const BioPtr bio = ReadFrom(pem);
  X509_REQ* const read = PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr);
  if (read == nullptr) {
    return OpenSslError(absl::StatusCode::kInvalidArgument, "not a signing request in PEM");
  }
  std::shared_ptr<X509_REQ> request(read, &X509_REQ_free);
  EVP_PKEY* const key = X509_REQ_get0_pubkey(request.get());
  char curve[32] = "";
  if (key == nullptr || EVP_PKEY_get_group_name(key, curve, sizeof(curve), nullptr) != 1 ||
      absl::string_view(curve) != "prime256v1") {
    return OpenSslError(absl::StatusCode::kInvalidArgument,
                        "the signing request's key is not on the curve P-256");
  }
  if (X509_REQ_verify(request.get(), key) != 1) {
    return OpenSslError(absl::StatusCode::kInvalidArgument,
                        "the signing request is not signed by its own key");
  }
  return SigningRequest(std::move(request));
}

std::string SigningRequest::ToPem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(bio.get(), request_.get());
  return Written(bio.get());
}

}  // namespace hpc::pki
