#include "worker/owner/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/os/process_words.h"

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

// No call on it waits longer than `limit`; then it fails with EAGAIN, connect too.
bool SetLimit(int fd, absl::Duration limit) {
  const timeval time = absl::ToTimeval(limit);
  return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0 &&
         setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) == 0;
}

// One request of an owner, and what is said where the worker does not answer it.
class Question {
 public:
  Question(const std::string& state_dir, const std::string& request, absl::Duration limit)
      : state_dir_(state_dir), request_(request), limit_(limit) {}

  absl::StatusOr<std::string> Ask() {
    HPC_RETURN_IF_ERROR(Connect());
    const std::string line = request_ + "\n";
    const ssize_t sent = send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return ErrnoStatus(errno, "send to the worker");
    if (sent != static_cast<ssize_t>(line.size())) return StandsStill();
    return Answer();
  }

 private:
  absl::Status Connect() {
    auto address = MakeAddress(state_dir_);
    if (absl::IsNotFound(address.status())) return NobodyThere(state_dir_);
    if (!address.ok()) return address.status();
    fd_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd_.ok() || !SetLimit(fd_.get(), limit_)) return ErrnoStatus(errno, "socket");
    if (connect(fd_.get(), address->get(), sizeof address->address) == 0) return absl::OkStatus();
    if (errno == ENOENT || errno == ECONNREFUSED) return NobodyThere(state_dir_);
    if (errno == EAGAIN) return StandsStill();
    return ErrnoStatus(errno, absl::StrCat("connect to ", state_dir_, "/", kName));
  }

  absl::StatusOr<std::string> Answer() {
    std::string answer;
    for (;;) {
      char buffer[4096];
      const ssize_t n = read(fd_.get(), buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) {
        if (!Lives()) return StandsStill();
        continue;
      }
      if (n < 0) return ErrnoStatus(errno, "read from the worker");
      if (n == 0) return absl::UnavailableError("the worker ended before it answered");
      answer.append(buffer, static_cast<size_t>(n));
      if (const size_t end = answer.find('\n'); end != std::string::npos)
        return answer.substr(0, end);
    }
  }

  // A worker that ends meanwhile lives in this sense: reading tells that better.
  bool Lives() const {
    if (request_ == kStatusRequest) return false;
    return !absl::IsDeadlineExceeded(Question(state_dir_, kStatusRequest, limit_).Ask().status());
  }

  absl::Status StandsStill() const {
    ucred worker{};
    socklen_t size = sizeof worker;
    getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &worker, &size);
    const std::string words = worker.pid > 0 ? ProcessWords(worker.pid) : "";
    return absl::DeadlineExceededError(absl::StrCat(
        "the worker with the state directory ", state_dir_, " was asked ", request_,
        " and has not answered within ", HumanDuration(limit_), ": ",
        words.empty() ? "it stands still" : words, ". ",
        worker.pid > 0 ? absl::StrCat("Let it go on (kill -CONT ", worker.pid, "), or restart it")
                       : "Restart it",
        " (systemctl restart hpc-worker), and ask again; one that goes on may still do what it was "
        "asked"));
  }

  const std::string state_dir_, request_;
  const absl::Duration limit_;
  UniqueFd fd_;
};

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

absl::StatusOr<std::string> AskWorker(const std::string& state_dir, const std::string& request,
                                      absl::Duration limit) {
  return Question(state_dir, request, limit).Ask();
}

}  // namespace hpc::worker
