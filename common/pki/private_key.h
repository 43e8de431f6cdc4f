// A private key: ECDSA on P-256. Every TLS 1.3 peer knows it, and small boards sign quickly with
// it.
#ifndef HPC_COMMON_PKI_PRIVATE_KEY_H_
#define HPC_COMMON_PKI_PRIVATE_KEY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_pkey_st;

namespace hpc::pki {

class PrivateKey {
 public:
  static absl::StatusOr<PrivateKey> Generate();

  // InvalidArgument: the text is not a private key in PEM, or the passphrase is wrong or missing.
  static absl::StatusOr<PrivateKey> FromPem(absl::string_view pem, absl::string_view passphrase);

  // Returns PKCS#8, encrypted with AES-256 if `passphrase` is not empty.
  absl::StatusOr<std::string> ToPem(absl::string_view passphrase) const;

  evp_pkey_st* get() const { return key_.get(); }

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_PRIVATE_KEY_H_
