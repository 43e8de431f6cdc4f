// evil_rank NAME FIFO [leave]: a rank that does everything it can to outlive its attempt. All of
// its processes are called NAME and ignore SIGTERM. With "leave" the rank itself exits once the
// others live.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

// Does not last for ever, since a test that fails must not leave us behind.
[[noreturn]] void Linger() {
  alarm(60);
  for (;;) pause();
}

// This child has a session of its own, so a signal to the rank's process group does not reach it.
void StartSessionChild() {
  if (fork() != 0) return;
  setsid();
  Linger();
}

// Nothing connects the daemon to the rank any more: no parent, environment, session or descriptor.
void StartDaemon() {
  const pid_t middle = fork();
  if (middle != 0) {
    waitpid(middle, nullptr, 0);
    return;
  }
  setsid();
  if (fork() != 0) _exit(0);
  clearenv();
  for (int fd = 0; fd < 64; ++fd) close(fd);
  Linger();
}

// Becomes another process every 0.2 ms, and is gone from wherever it was just seen. It reports each
// hop to `fifo`, and gives up once nobody reads there.
void StartHopper(int fifo) {
  if (fork() != 0) return;
  setsid();
  signal(SIGPIPE, SIG_IGN);
  for (;;) {
    if (fork() != 0) _exit(0);
    if (write(fifo, ".", 1) < 0 && errno == EPIPE) _exit(0);
    const timespec pause{0, 200'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  prctl(PR_SET_NAME, argv[1]);
  signal(SIGTERM, SIG_IGN);
  const int fifo = open(argv[2], O_WRONLY | O_NONBLOCK);
  if (fifo < 0) return 3;
  StartSessionChild();
  StartDaemon();
  StartHopper(fifo);
  if (argc > 3 && strcmp(argv[3], "leave") == 0) return 0;
  Linger();
}
