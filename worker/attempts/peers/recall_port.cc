#include "worker/attempts/peers/recall_port.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "worker/rendezvous/ip_address.h"
#include "worker/supervisor/protocol/recall.h"

namespace hpc::worker {
namespace {

absl::StatusOr<std::string> RandomDigits() {
  std::array<char, kRecallDigits / 2> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return ErrnoStatus(errno, "getrandom");
  }
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

}  // namespace

absl::StatusOr<RecallPort> OpenRecallPort(const std::string& address) {
  HPC_ASSIGN_OR_RETURN(store::SocketAddress at, store::ParseIp(address, 0));
  RecallPort out;
  out.socket.Reset(socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.socket.ok() || bind(out.socket.get(), at.get(), at.size) != 0 ||
      getsockname(out.socket.get(), at.get(), &at.size) != 0) {
    return absl::UnavailableError(
        std::string(ErrnoStatus(errno, absl::StrCat("bind a port of ", address)).message()));
  }
  out.access.port = at.port();
  HPC_ASSIGN_OR_RETURN(out.access.key, RandomDigits());
  HPC_ASSIGN_OR_RETURN(out.access.proof, RandomDigits());
  return out;
}

}  // namespace hpc::worker
