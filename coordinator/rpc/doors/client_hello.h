// Tells what the first bytes of a connection are, before TLS has seen them. This is good enough to
// tell callers apart and to say so; what is let through is judged by OpenSSL. Pure.
#ifndef HPC_COORDINATOR_RPC_DOORS_CLIENT_HELLO_H_
#define HPC_COORDINATOR_RPC_DOORS_CLIENT_HELLO_H_

#include "absl/strings/string_view.h"

namespace hpc::coordinator {

enum class Opening {
  kIncomplete,  // more bytes are needed to tell
  kTls13,       // a ClientHello that offers TLS 1.3
  kOldTls,      // a ClientHello that does not
  kNotTls,      // plain text, or something else
};

// This many bytes are enough to tell; otherwise the caller does not speak TLS.
inline constexpr size_t kMaxOpening = 16 * 1024 + 5;

Opening ClassifyOpening(absl::string_view bytes);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_CLIENT_HELLO_H_
