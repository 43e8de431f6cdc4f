#include "worker/owner/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_macros.h"

namespace hpc::worker {
namespace {

constexpr char kName[] = "worker.sock";

// The address of the socket. A path of any length fits when it starts at a descriptor of its
// folder.
struct Address {
  UniqueFd folder;
  sockaddr_un address{};
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

absl::StatusOr<Address> MakeAddress(const std::string& state_dir) {
  Address out;
  out.folder.Reset(open(state_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!out.folder.ok()) return ErrnoStatus(errno, "open " + state_dir);
  out.address.sun_family = AF_UNIX;
  snprintf(out.address.sun_path, sizeof out.address.sun_path, "/proc/self/fd/%d/%s",
           out.folder.get(), kName);
  return out;
}

absl::Status NobodyThere(const std::string& state_dir) {
  return absl::NotFoundError(absl::StrCat("no hpc-worker runs with the state directory ", state_dir,
                                          "; name the right one with --state-dir"));
}

absl::StatusOr<UniqueFd> Connect(const std::string& state_dir) {
  auto address = MakeAddress(state_dir);
  if (absl::IsNotFound(address.status())) return NobodyThere(state_dir);
  if (!address.ok()) return address.status();
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.ok()) return ErrnoStatus(errno, "socket");
  if (connect(fd.get(), address->get(), sizeof address->address) == 0) return fd;
  if (errno == ENOENT || errno == ECONNREFUSED) return NobodyThere(state_dir);
  return ErrnoStatus(errno, absl::StrCat("connect to ", state_dir, "/", kName));
}

}  // namespace

absl::StatusOr<UniqueFd> ListenOnControlSocket(const std::string& state_dir) {
  HPC_ASSIGN_OR_RETURN(const Address address, MakeAddress(state_dir));
  const std::string path = absl::StrCat(state_dir, "/", kName);
  unlink(path.c_str());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.ok()) return ErrnoStatus(errno, "socket");
  // Other accounts may pass through the folder, so the socket itself must refuse them.
  if (bind(fd.get(), address.get(), sizeof address.address) != 0 ||
      chmod(path.c_str(), 0600) != 0 || listen(fd.get(), 16) != 0) {
    return ErrnoStatus(errno, "listen on " + path);
  }
  return fd;
}

absl::StatusOr<std::string> AskWorker(const std::string& state_dir, const std::string& request) {
  HPC_ASSIGN_OR_RETURN(const UniqueFd fd, Connect(state_dir));
  const std::string line = request + "\n";
  if (send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    return ErrnoStatus(errno, "send to the worker");
  }
  std::string answer;
  for (;;) {
    char buffer[4096];
    const ssize_t n = read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read from the worker");
    if (n == 0) return absl::UnavailableError("the worker ended before it answered");
    answer.append(buffer, static_cast<size_t>(n));
    if (const size_t end = answer.find('\n'); end != std::string::npos)
      return answer.substr(0, end);
  }
}

}  // namespace hpc::worker
