// Owning pointers to OpenSSL's objects, and its errors as statuses. Only this folder includes it.
#ifndef HPC_COMMON_PKI_OPENSSL_H_
#define HPC_COMMON_PKI_OPENSSL_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hpc::pki {

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

using BioPtr = std::unique_ptr<BIO, FreeWith<&BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, FreeWith<&X509_free>>;
using X509ReqPtr = std::unique_ptr<X509_REQ, FreeWith<&X509_REQ_free>>;
using X509ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreeWith<&X509_EXTENSION_free>>;
using X509StorePtr = std::unique_ptr<X509_STORE, FreeWith<&X509_STORE_free>>;
using X509StoreCtxPtr = std::unique_ptr<X509_STORE_CTX, FreeWith<&X509_STORE_CTX_free>>;
using EvpPkeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<&EVP_PKEY_free>>;
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, FreeWith<&GENERAL_NAMES_free>>;

// Returns "<what>: <the newest of OpenSSL's errors>", and empties OpenSSL's queue of errors.
absl::Status OpenSslError(absl::StatusCode code, absl::string_view what);

// Returns a view of `text` that OpenSSL can read. `text` must outlive it.
BioPtr ReadFrom(absl::string_view text);

// Returns what has been written to a memory BIO.
std::string Written(BIO* bio);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_OPENSSL_H_
