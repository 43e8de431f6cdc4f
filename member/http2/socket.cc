#include "member/http2/socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/net/dial.h"
#include "common/status_macros.h"

namespace hpc::wire {
namespace {

constexpr size_t kMostRead = 256 << 10;

}  // namespace

Socket::Socket(UniqueFd fd, std::unique_ptr<pki::TlsClient> tls)
    : fd_(std::move(fd)), tls_(std::move(tls)) {}

absl::StatusOr<bool> Socket::Step() {
  const absl::StatusOr<bool> done = tls_->Handshake();
  // After an error the output holds an alert, which tells the peer why.
  unsent_ += tls_->TakeOutput();
  const absl::Status sent = Flush();
  if (done.ok() && !sent.ok()) return sent;
  return done;
}

absl::Status Socket::Begin() { return tls_ == nullptr ? absl::OkStatus() : Step().status(); }

absl::Status Socket::Handshake(MonoTime deadline, int stop_fd) {
  if (tls_ == nullptr) return absl::OkStatus();
  while (true) {
    HPC_ASSIGN_OR_RETURN(const bool done, Step());
    if (done) return absl::OkStatus();
    const short events = unsent() > 0 ? POLLIN | POLLOUT : POLLIN;  // NOLINT: poll's type
    HPC_RETURN_IF_ERROR(Await(fd_.get(), events, deadline, stop_fd));
    HPC_RETURN_IF_ERROR(ReadRaw([this](absl::string_view bytes) {
      tls_->Receive(bytes);
      return absl::OkStatus();
    }));
  }
}

absl::Status Socket::ReadRaw(Taker take) {
  size_t taken = 0;
  char buffer[64 << 10];
  while (taken < kMostRead) {
    const ssize_t count = recv(fd_.get(), buffer, sizeof(buffer), 0);
    if (count > 0) {
      taken += static_cast<size_t>(count);
      HPC_RETURN_IF_ERROR(take({buffer, static_cast<size_t>(count)}));
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    // The bytes before the end are handed on first. The next call reports the end.
    if (taken > 0 || (count < 0 && errno == EAGAIN)) return absl::OkStatus();
    return absl::UnavailableError(count == 0 ? "the connection was closed" : std::strerror(errno));
  }
  return absl::OkStatus();
}

absl::Status Socket::Read(Taker take) {
  if (tls_ == nullptr) return ReadRaw(take);
  const absl::Status raw = ReadRaw([this](absl::string_view bytes) {
    tls_->Receive(bytes);
    return absl::OkStatus();
  });
  std::string plain;
  const absl::Status status = tls_->Read(&plain);
  unsent_ += tls_->TakeOutput();
  if (!plain.empty()) return take(plain);
  return raw.ok() ? status : raw;
}

absl::Status Socket::Write(absl::string_view bytes) {
  if (tls_ == nullptr) {
    unsent_.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  HPC_RETURN_IF_ERROR(tls_->Write(bytes));
  unsent_ += tls_->TakeOutput();
  return absl::OkStatus();
}

absl::Status Socket::Flush() {
  size_t sent = 0;
  absl::Status status;
  while (sent < unsent_.size()) {
    const ssize_t count =
        send(fd_.get(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      status = absl::UnavailableError(std::strerror(errno));
      break;
    }
  }
  unsent_.erase(0, sent);
  return status;
}

}  // namespace hpc::wire
