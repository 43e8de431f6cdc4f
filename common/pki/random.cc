#include "common/pki/random.h"

#include <openssl/rand.h>

#include "common/pki/openssl.h"

namespace hpc::pki {

absl::StatusOr<std::string> RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1) {
    return OpenSslError(absl::StatusCode::kInternal, "no randomness");
  }
  return bytes;
}

}  // namespace hpc::pki
