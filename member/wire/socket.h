// A connection to the coordinator as bytes, in plain text or under TLS.
#ifndef HPC_MEMBER_WIRE_SOCKET_H_
#define HPC_MEMBER_WIRE_SOCKET_H_

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

// Never blocks, but for Handshake. Not thread-safe.
class Socket {
 public:
  // `fd` is connected and does not block; `tls`: nullptr for plain text.
  Socket(UniqueFd fd, std::unique_ptr<pki::TlsClient> tls);

  // Before all else: says the first word under TLS.
  absl::Status Begin();
  // Then. Errors: those of TlsClient::Handshake; DeadlineExceeded; Cancelled: `stop_fd`
  // became readable.
  absl::Status Handshake(MonoTime deadline, int stop_fd);

  int fd() const { return fd_.get(); }
  // Hands on what has come, piece by piece, which may be nothing, and at most some hundred
  // kilobytes of it. Errors of `take`; Unavailable: the connection has ended.
  using Taker = absl::FunctionRef<absl::Status(absl::string_view bytes)>;
  absl::Status Read(Taker take);
  // To be sent, all of it, by this or the next Flush.
  absl::Status Write(absl::string_view bytes);
  // Sends what the peer takes now. Unavailable: it takes nothing more.
  absl::Status Flush();
  size_t unsent() const { return unsent_.size(); }

  // In PEM; "" without TLS.
  std::string shown() const { return tls_ == nullptr ? "" : tls_->Shown(); }

 private:
  // One step of the handshake; whether it was the last.
  absl::StatusOr<bool> Step();
  absl::Status ReadRaw(Taker take);

  UniqueFd fd_;
  std::unique_ptr<pki::TlsClient> tls_;
  std::string unsent_;
};

}  // namespace hpc::wire

#endif  // HPC_MEMBER_WIRE_SOCKET_H_
