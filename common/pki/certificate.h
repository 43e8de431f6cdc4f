// A certificate, parsed by OpenSSL.
#ifndef HPC_COMMON_PKI_CERTIFICATE_H_
#define HPC_COMMON_PKI_CERTIFICATE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/pki/identity.h"

struct x509_st;

namespace hpc::pki {

class PrivateKey;

class Certificate {
 public:
  // Takes over the reference to `x509`, which must not be null.
  static Certificate Own(x509_st* x509);
  // Returns the first certificate of a PEM text. InvalidArgument: there is none.
  static absl::StatusOr<Certificate> FromPem(absl::string_view pem);

  std::string ToPem() const;
  // Returns 32 hexadecimal digits, or whatever serial number another authority chose.
  std::string Serial() const;
  // InvalidArgument: the certificate was not made for a member of a cluster.
  absl::StatusOr<Identity> GetIdentity() const;
  absl::Time not_before() const;
  absl::Time not_after() const;
  // Returns the SHA-256 of the public key (its SubjectPublicKeyInfo), 32 bytes. It is the same for
  // every certificate of one authority, whoever signed it.
  std::string PublicKeyHash() const;
  bool IsSelfSigned() const;
  // Returns whether this certificate belongs to `key`.
  bool IsOf(const PrivateKey& key) const;

  x509_st* get() const { return x509_.get(); }

 private:
  explicit Certificate(std::shared_ptr<x509_st> x509) : x509_(std::move(x509)) {}
  std::shared_ptr<x509_st> x509_;
};

// Returns all certificates of a PEM text, in order. InvalidArgument: none, or one that cannot be
// read.
absl::StatusOr<std::vector<Certificate>> CertificatesFromPem(absl::string_view pem);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_CERTIFICATE_H_
