// The client's side of one TLS connection, without the connection: bytes in, bytes out.
#ifndef HPC_COMMON_PKI_TLS_TLS_CLIENT_H_
#define HPC_COMMON_PKI_TLS_TLS_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc::pki {

// What came from the peer goes to Receive, and what TakeOutput gives is for the peer; it has more
// after every other call. TLS 1.3, and HTTP/2 inside. Not thread-safe.
class TlsClient {
 public:
  // All in PEM; who shows no certificate has "" for both. InvalidArgument: one cannot be read.
  static absl::StatusOr<std::unique_ptr<TlsClient>> Make(absl::string_view authorities,
                                                         absl::string_view key,
                                                         absl::string_view certificate,
                                                         const std::string& host);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  void Receive(absl::string_view bytes);
  std::string TakeOutput();

  // Goes on with the handshake; whether it is done. Unauthenticated: the peer is not `host` by the
  // word of one of the authorities; Unavailable: it speaks no TLS, or wants none with us.
  absl::StatusOr<bool> Handshake();

  // After the handshake.
  absl::Status Write(absl::string_view plain);
  // Appends what can be read. Unavailable: the peer has ended the connection, or broken it.
  absl::Status Read(std::string* plain);

  // The certificates that the peer has shown, in PEM, its own first.
  std::string Shown() const;

 private:
  struct State;
  explicit TlsClient(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_TLS_TLS_CLIENT_H_
