#include "worker/supervisor/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "worker/supervisor/os/birth.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/os/small_file.h"
#include "worker/supervisor/protocol/passed_files.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {
namespace {

// The descriptors at which a supervisor has what came with the request, in ascending order.
constexpr std::array<int, 2> kPlaces = {kWorkerSocketFd, kListenerFd};

struct Received {
  ForkRequest request;
  std::vector<UniqueFd> files;
};

// nullopt: the worker is gone, or what asks is not a worker.
std::optional<Received> Receive(int socket) {
  auto passed = ReceiveFiles(socket, kMostForkRequestBytes);
  if (!passed || passed->files.size() != kPlaces.size()) return std::nullopt;
  auto request = DecodeForkRequest(passed->bytes);
  if (!request) return std::nullopt;
  return Received{*std::move(request), std::move(passed->files)};
}

// A file may have come at a number at which another must be. So all are moved above these numbers
// first.
bool PutInPlace(const std::vector<UniqueFd>& files) {
  std::array<int, kPlaces.size()> high{};
  for (size_t i = 0; i < files.size(); ++i) {
    high[i] = fcntl(files[i].get(), F_DUPFD, kPlaces.back() + 1);
    if (high[i] < 0) return false;
  }
  for (size_t i = 0; i < files.size(); ++i) {
    if (dup3(high[i], kPlaces[i], O_CLOEXEC) < 0) return false;
  }
  // Everything beyond is closed: the copies, what has come, and more. The server's own socket is
  // gone, too, since its number was given to another file.
  return syscall(SYS_close_range, kPlaces.back() + 1, ~0U, 0) == 0;
}

bool BeginLife(const Received& received, const CgroupLeaf* to_enter) {
  const ForkRequest& request = received.request;
  signal(SIGCHLD, SIG_DFL);
  setsid();
  const rlimit open_files{request.open_files, request.most_open_files};
  if (setrlimit(RLIMIT_NOFILE, &open_files) != 0) return false;
  if (to_enter != nullptr && !to_enter->Enter()) return false;
  prctl(PR_SET_NAME, "hpc-supervisor");
  return PutInPlace(received.files);
}

// Returns only in the server.
ForkAnswer MakeChild(const Received& received, ProcessTitle* title, const Supervise& supervise) {
  const ForkRequest& request = received.request;
  std::optional<CgroupLeaf> cgroup;
  if (!request.cgroup.empty() && !(cgroup = CgroupLeaf::Open(request.cgroup))) {
    return {.pid = 0, .error = errno};
  }
  const CgroupLeaf* const leaf = cgroup ? &*cgroup : nullptr;
  bool must_enter = false;
  const pid_t pid = ForkToStay(leaf, &must_enter);
  if (pid < 0) return {.pid = 0, .error = errno};
  if (pid > 0) return {.pid = pid, .error = 0};
  if (!BeginLife(received, must_enter ? leaf : nullptr)) _exit(127);
  exit(supervise(request, title));
}

}  // namespace

int ServeForks(int socket, ProcessTitle* title, const Supervise& supervise) {
  ResetSignals();  // once, instead of in each child
  signal(SIGCHLD, SIG_IGN);
  (void)BootId();
  while (const auto received = Receive(socket)) {
    const ForkAnswer answer = MakeChild(*received, title, supervise);
    if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) < 0) break;
  }
  return 0;
}

}  // namespace hpc::worker
