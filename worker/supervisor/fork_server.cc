#include "worker/supervisor/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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
#include "worker/supervisor/birth.h"
#include "worker/supervisor/cgroup_leaf.h"
#include "worker/supervisor/small_file.h"
#include "worker/supervisor/spec.h"

namespace hpc::worker {
namespace {

// Where a supervisor has what came with the request, in ascending order.
constexpr std::array<int, kMostForkDescriptors> kPlaces = {STDIN_FILENO, kWorkerSocketFd,
                                                           kJournalFd, kListenerFd, kRecallFd};

struct Received {
  ForkRequest request;
  std::vector<UniqueFd> descriptors;
};

void TakeDescriptors(const msghdr& message, std::vector<UniqueFd>* descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      descriptors->emplace_back(fd);
    }
  }
}

// nullopt: the worker is gone, or is none.
std::optional<Received> Receive(int socket) {
  std::string bytes(kMostForkRequestBytes, '\0');
  alignas(cmsghdr) char control[CMSG_SPACE(kMostForkDescriptors * sizeof(int))];
  iovec data{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  do {
    n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return std::nullopt;
  Received received;
  TakeDescriptors(message, &received.descriptors);
  bytes.resize(static_cast<size_t>(n));
  auto request = DecodeForkRequest(bytes);
  if (!request) return std::nullopt;
  const size_t expected = kPlaces.size() - (request->recallable ? 0 : 1);
  if (received.descriptors.size() != expected) return std::nullopt;
  received.request = *std::move(request);
  return received;
}

// They may lie in each other's places: out of those first.
bool PutInPlace(const std::vector<UniqueFd>& descriptors) {
  std::array<int, kPlaces.size()> high{};
  for (size_t i = 0; i < descriptors.size(); ++i) {
    high[i] = fcntl(descriptors[i].get(), F_DUPFD, kRecallFd + 1);
    if (high[i] < 0) return false;
  }
  const int null = open("/dev/null", O_WRONLY);
  if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0) return false;
  for (size_t i = 0; i < descriptors.size(); ++i) {
    if (dup2(high[i], kPlaces[i]) < 0) return false;
  }
  // What came may lie beyond, and the server's own socket is in a place that has been taken.
  return syscall(SYS_close_range, kPlaces[descriptors.size() - 1] + 1, ~0U, 0) == 0;
}

bool BeginLife(const Received& received, const CgroupLeaf* to_enter) {
  const ForkRequest& request = received.request;
  signal(SIGCHLD, SIG_DFL);
  setsid();
  const rlimit open_files{request.open_files, request.most_open_files};
  if (setrlimit(RLIMIT_NOFILE, &open_files) != 0) return false;
  if (to_enter != nullptr && !to_enter->Enter()) return false;
  prctl(PR_SET_NAME, "hpc-supervisor");
  return PutInPlace(received.descriptors);
}

// Whoever gives up closes its end first and looks for us then, whom it knows by our title.
bool WorkerHasGivenUp() {
  pollfd worker{.fd = kWorkerSocketFd, .events = 0, .revents = 0};
  return poll(&worker, 1, 0) > 0 && (worker.revents & POLLHUP) != 0;
}

// Returns in the server alone.
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
  title->Set({"hpc-supervisor", request.dir});
  if (WorkerHasGivenUp()) _exit(0);
  exit(supervise(request));
}

}  // namespace

int ServeForks(int socket, ProcessTitle* title, const Supervise& supervise) {
  ResetSignals();  // once, and not in each child
  signal(SIGCHLD, SIG_IGN);
  (void)BootId();
  while (const auto received = Receive(socket)) {
    const ForkAnswer answer = MakeChild(*received, title, supervise);
    if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) < 0) break;
  }
  return 0;
}

}  // namespace hpc::worker
