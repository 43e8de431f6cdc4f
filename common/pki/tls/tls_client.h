// The client's side of one TLS connection, without the connection: bytes in, bytes out.
#ifndef HPC_COMMON_PKI_TLS_TLS_CLIENT_H_
#define HPC_COMMON_PKI_TLS_TLS_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc::pki {

// Hand what came from the peer to Receive, and send what TakeOutput returns to the peer. Every
// other call may produce more output. TLS 1.3, with HTTP/2 inside. Not thread-safe.
class TlsClient {
 public:
  // All texts are PEM. A client that shows no certificate has "" for both `key` and `certificate`.
  // InvalidArgument: one of them cannot be read.
  static absl::StatusOr<std::unique_ptr<TlsClient>> Make(absl::string_view authorities,
                                                         absl::string_view key,
                                                         absl::string_view certificate,
                                                         const std::string& host);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  void Receive(absl::string_view bytes);
  std::string TakeOutput();

  // Goes on with the handshake, and returns whether it is done. Unauthenticated: none of the
  // authorities vouches that the peer is `host`; Unavailable: it does not speak TLS, or refuses to
  // speak it with us.
  absl::StatusOr<bool> Handshake();

  // May be called after the handshake.
  absl::Status Write(absl::string_view plain);
  // Appends what can be read. Unavailable: the peer has ended the connection, or broken it.
  absl::Status Read(std::string* plain);

  // Returns the certificates that the peer has shown, in PEM, its own first.
  std::string Shown() const;

 private:
  struct State;
  explicit TlsClient(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_TLS_TLS_CLIENT_H_
