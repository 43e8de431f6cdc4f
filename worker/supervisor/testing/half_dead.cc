// half_dead ATTEMPT_DIR: a supervisor whose disk hangs, and whose main thread was ended. It says
// that it is ready, hears one command, and says its last words. After that only its other thread is
// left.
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "worker/supervisor/fork_server.h"
#include "worker/supervisor/os/process_title.h"
#include "worker/supervisor/protocol/order.h"
#include "worker/supervisor/protocol/spec.h"

namespace {

using hpc::worker::kListenerFd;
using hpc::worker::kWorkerSocketFd;

void Tell(const hpc::worker::SupervisorEvent& event) {
  const std::string bytes = Encode(event);
  (void)!send(kWorkerSocketFd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// Does not last for ever, since a test that fails must not leave us behind.
void* Hang(void*) {
  sleep(60);
  _exit(0);
}

// Made as a supervisor is made, by the thread that serves forks.
int BeHalfDead(const hpc::worker::ForkRequest&, hpc::worker::ProcessTitle* title) {
  const auto order = hpc::worker::AwaitOrder(kWorkerSocketFd);
  if (!order) return 1;
  title->Set({"hpc-supervisor", order->order.dir});
  listen(kListenerFd, 16);
  Tell(hpc::worker::SupervisorReady{.pid = getpid(), .containment = "subreaper"});
  pollfd command{.fd = kWorkerSocketFd, .events = POLLIN, .revents = 0};
  poll(&command, 1, -1);
  Tell(hpc::worker::StopBegan{.reason = "SIGTERM", .at_ns = 1});
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Hang, nullptr) != 0) return 1;
  syscall(SYS_exit, 0);  // ends this thread only
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  hpc::worker::ProcessTitle title(argc, argv);
  return hpc::worker::ServeForks(kWorkerSocketFd, &title, &BeHalfDead);
}
