#include "common/pki/openssl.h"

#include <openssl/err.h>

#include "absl/strings/str_cat.h"

namespace hpc::pki {
namespace {

// Loads the error texts of the parts of OpenSSL that read keys and certificates. lean_provider.cc
// keeps OpenSSL from loading them at its start. These functions are deprecated, but the ones that
// replace them load the texts of everything.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void LoadWords() {
  ERR_load_ASN1_strings();
  ERR_load_EC_strings();
  ERR_load_EVP_strings();
  ERR_load_PEM_strings();
  ERR_load_X509_strings();
}
#pragma GCC diagnostic pop

}  // namespace

absl::Status OpenSslError(absl::StatusCode code, absl::string_view what) {
  const unsigned long error = ERR_peek_last_error();  // NOLINT: OpenSSL's type
  if (error != 0) LoadWords();
  const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  ERR_clear_error();
  if (reason == nullptr) return absl::Status(code, what);
  return absl::Status(code, absl::StrCat(what, ": ", reason));
}

BioPtr ReadFrom(absl::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string Written(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);  // NOLINT: OpenSSL's type
  return std::string(data, static_cast<size_t>(size));
}

}  // namespace hpc::pki
