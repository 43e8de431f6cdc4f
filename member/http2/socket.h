// A connection to the coordinator as bytes, in plain text or under TLS.
#ifndef HPC_MEMBER_HTTP2_SOCKET_H_
#define HPC_MEMBER_HTTP2_SOCKET_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "common/pki/tls/tls_client.h"
#include "common/unique_fd.h"

namespace hpc::wire {

// No function blocks, except Handshake. Not thread-safe.
class Socket {
 public:
  // `fd` is connected and non-blocking. `tls` is nullptr for plain text.
  Socket(UniqueFd fd, std::unique_ptr<pki::TlsClient> tls);

  // Is called first: sends the first bytes of the TLS handshake.
  absl::Status Begin();
  // Is called second. Errors: those of TlsClient::Handshake; DeadlineExceeded; Cancelled: `stop_fd`
  // became readable.
  absl::Status Handshake(MonoTime deadline, int stop_fd);

  int fd() const { return fd_.get(); }
  // Hands on what has come, piece by piece: perhaps nothing, and at most some hundred kilobytes.
  // Errors are those of `take`. Unavailable: the connection has ended.
  using Taker = absl::FunctionRef<absl::Status(absl::string_view bytes)>;
  absl::Status Read(Taker take);
  // Takes bytes to be sent. This call or the next Flush sends them.
  absl::Status Write(absl::string_view bytes);
  // Sends as much as the peer takes now. Unavailable: the connection is broken.
  absl::Status Flush();
  size_t unsent() const { return unsent_.size(); }

  // Returns the peer's certificates in PEM; "" without TLS.
  std::string shown() const { return tls_ == nullptr ? "" : tls_->Shown(); }

 private:
  // Does one step of the handshake, and returns whether it was the last.
  absl::StatusOr<bool> Step();
  absl::Status ReadRaw(Taker take);

  UniqueFd fd_;
  std::unique_ptr<pki::TlsClient> tls_;
  std::string unsent_;
};

}  // namespace hpc::wire

#endif  // HPC_MEMBER_HTTP2_SOCKET_H_
