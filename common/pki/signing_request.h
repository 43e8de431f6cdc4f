// A request to have a public key signed (PKCS#10). It proves that the asker holds the private key,
// and says nothing else: the signer decides for whom the certificate speaks.
#ifndef HPC_COMMON_PKI_SIGNING_REQUEST_H_
#define HPC_COMMON_PKI_SIGNING_REQUEST_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/pki/private_key.h"

struct X509_req_st;

namespace hpc::pki {

class SigningRequest {
 public:
  static absl::StatusOr<SigningRequest> Make(const PrivateKey& key);

  // InvalidArgument: the text is not a request in PEM, its signature does not fit its key, or the
  // key is not of the kind that PrivateKey makes.
  static absl::StatusOr<SigningRequest> FromPem(absl::string_view pem);

  std::string ToPem() const;

  X509_req_st* get() const { return request_.get(); }

 private:
  explicit SigningRequest(std::shared_ptr<X509_req_st> request) : request_(std::move(request)) {}
  std::shared_ptr<X509_req_st> request_;
};

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_SIGNING_REQUEST_H_
