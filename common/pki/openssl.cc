#include "common/pki/openssl.h"

#include <openssl/err.h>

#include "absl/strings/str_cat.h"

namespace hpc::pki {

absl::Status OpenSslError(absl::StatusCode code, absl::string_view what) {
  const unsigned long error = ERR_peek_last_error();  // NOLINT: OpenSSL's type
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
