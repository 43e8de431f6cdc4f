// What the first bytes of a connection are, before TLS has seen them: good enough to tell a caller
// apart and to say so; what is let through is OpenSSL's to judge. Pure.
#ifndef HPC_COORDINATOR_RPC_DOORS_CLIENT_HELLO_H_
#define HPC_COORDINATOR_RPC_DOORS_CLIENT_HELLO_H_

#include "absl/strings/string_view.h"

namespace hpc::coordinator {

enum class Opening {
  kIncomplete,  // more bytes are needed to tell
  kTls13,       // a ClientHello that offers TLS 1.3
  kOldTls,      // one that does not
  kNotTls,      // plain text, or something else
};

// So many bytes are enough to tell, or it is not TLS.
inline constexpr size_t kMaxOpening = 16 * 1024 + 5;

Opening ClassifyOpening(absl::string_view bytes);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_CLIENT_HELLO_H_
