#include "worker/supervisor_client/record.h"

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

constexpr char kSocket[] = "supervisor.sock";

UniqueFd OpenFolder(const std::string& folder) {
  return UniqueFd(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// The address of a socket. A path of any length fits when it starts at a descriptor of its folder.
sockaddr_un SocketIn(const UniqueFd& folder, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder.get(),
           name.c_str());
  return address;
}

UniqueFd MakeSocket() {
  return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

std::string RecordPath(const std::string& dir, const std::string& name) {
  return absl::StrCat(dir.substr(0, dir.rfind('/')), "/", name);
}

std::string JournalTitle(const std::string& dir) {
  const std::string folder = dir.substr(0, dir.rfind('/'));
  return absl::StrCat("attempt ", folder.substr(folder.rfind('/') + 1));
}

absl::StatusOr<UniqueFd> BeginJournal(const std::string& dir) {
  const std::string path = RecordPath(dir, kJournalName), title = JournalTitle(dir) + "\n";
  UniqueFd journal(open(path.c_str(),
                        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!journal.ok()) return ErrnoStatus(errno, "make " + path);
  const ssize_t n = write(journal.get(), title.data(), title.size());
  if (n == static_cast<ssize_t>(title.size())) return journal;
  return ErrnoStatus(n < 0 ? errno : ENOSPC, "write " + path);
}

absl::StatusOr<UniqueFd> BindSocket(const std::string& path) {
  const size_t slash = path.rfind('/');
  const UniqueFd folder = OpenFolder(path.substr(0, slash));
  UniqueFd listener = MakeSocket();
  const sockaddr_un address = SocketIn(folder, path.substr(slash + 1));
  if (!folder.ok() || !listener.ok() ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), 0600) != 0) {
    return ErrnoStatus(errno == EADDRINUSE ? EEXIST : errno, "make " + path);
  }
  return listener;
}

absl::Status ShowSocket(const std::string& path, const std::string& dir) {
  const std::string shown = RecordPath(dir, kSocket);
  if (link(path.c_str(), shown.c_str()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "make " + shown);
}

void RemoveSupervisorSocket(const std::string& dir) { unlink(RecordPath(dir, kSocket).c_str()); }

void RemoveSupervisorFiles(const std::string& dir) {
  unlink(RecordPath(dir, kJournalName).c_str());
  RemoveSupervisorSocket(dir);
}

absl::StatusOr<UniqueFd> ConnectToSupervisor(const std::string& dir) {
  const UniqueFd folder = OpenFolder(RecordPath(dir, ""));
  if (!folder.ok()) return ErrnoStatus(errno, "open " + RecordPath(dir, ""));
  UniqueFd fd = MakeSocket();
  if (!fd.ok()) return ErrnoStatus(errno, "socket for a supervisor");
  const sockaddr_un address = SocketIn(folder, kSocket);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return fd;
  }
  const std::string what = "connect to " + RecordPath(dir, kSocket);
  if (errno == ECONNREFUSED) return absl::NotFoundError(what + ": nobody listens any more");
  return ErrnoStatus(errno, what);
}

}  // namespace hpc::worker
