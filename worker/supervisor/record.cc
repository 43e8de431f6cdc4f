#include "worker/supervisor/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"

namespace hpc::worker {
namespace {

constexpr char kJournal[] = "journal";
constexpr char kSocket[] = "supervisor.sock";

UniqueFd OpenFolder(const std::string& dir) {
  return UniqueFd(open(RecordPath(dir, "").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// A path of any length fits when it starts at a descriptor of its folder.
sockaddr_un SocketIn(const UniqueFd& folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder.get(), kSocket);
  return address;
}

UniqueFd MakeSocket() {
  return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

absl::StatusOr<UniqueFd> BindSocket(const std::string& dir) {
  const std::string path = RecordPath(dir, kSocket);
  const UniqueFd folder = OpenFolder(dir);
  UniqueFd listener = MakeSocket();
  const sockaddr_un address = SocketIn(folder);
  if (!folder.ok() || !listener.ok() ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), 0600) != 0) {
    return ErrnoStatus(errno, "make " + path);
  }
  return listener;
}

}  // namespace

std::string RecordPath(const std::string& dir, const std::string& name) {
  return absl::StrCat(dir.substr(0, dir.rfind('/')), "/", name);
}

absl::StatusOr<SupervisorFiles> MakeSupervisorFiles(const std::string& dir) {
  const std::string path = RecordPath(dir, kJournal);
  SupervisorFiles files;
  files.journal.Reset(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!files.journal.ok()) return ErrnoStatus(errno, "make " + path);
  auto listener = BindSocket(dir);
  if (!listener.ok()) {
    RemoveSupervisorFiles(dir);
    return listener.status();
  }
  files.listener = *std::move(listener);
  return files;
}

void RemoveSupervisorFiles(const std::string& dir) {
  for (const char* name : {kJournal, kSocket}) unlink(RecordPath(dir, name).c_str());
}

absl::StatusOr<UniqueFd> ConnectToSupervisor(const std::string& dir) {
  const UniqueFd folder = OpenFolder(dir);
  if (!folder.ok()) return ErrnoStatus(errno, "open " + RecordPath(dir, ""));
  UniqueFd fd = MakeSocket();
  if (!fd.ok()) return ErrnoStatus(errno, "socket for a supervisor");
  const sockaddr_un address = SocketIn(folder);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return fd;
  }
  const std::string what = "connect to " + RecordPath(dir, kSocket);
  if (errno == ECONNREFUSED) return absl::NotFoundError(what + ": nobody listens any more");
  return ErrnoStatus(errno, what);
}

}  // namespace hpc::worker
