// half_dead ATTEMPT_DIR: a supervisor whose disk hangs and whose main thread was ended. It says
// that it is ready, hears one command, says its last words, and then only its other thread is left.
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "worker/supervisor/spec.h"

namespace {

using hpc::worker::kListenerFd;
using hpc::worker::kWorkerSocketFd;

void Tell(const hpc::worker::SupervisorEvent& event) {
  const std::string bytes = Encode(event);
  (void)!send(kWorkerSocketFd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// Not for ever: a test that fails must not leave us behind.
void* Hang(void*) {
  sleep(60);
  _exit(0);
}

}  // namespace

int main() {
  listen(kListenerFd, 16);
  Tell(hpc::worker::SupervisorReady{.pid = getpid(), .containment = "subreaper"});
  pollfd command{.fd = kWorkerSocketFd, .events = POLLIN, .revents = 0};
  poll(&command, 1, -1);
  Tell(hpc::worker::StopBegan{.reason = "SIGTERM", .at_ns = 1});
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Hang, nullptr) != 0) return 1;
  pthread_exit(nullptr);
}
