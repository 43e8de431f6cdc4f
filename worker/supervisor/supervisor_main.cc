// hpc-supervisor ATTEMPT_DIR: runs the ranks of one attempt as ATTEMPT_DIR/spec says.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "worker/supervisor/say.h"
#include "worker/supervisor/small_file.h"
#include "worker/supervisor/supervisor.h"

namespace {

constexpr int kWorkerSocket = 3;

// The worker's socketpair, or none when a person starts us to see what happens.
hpc::UniqueFd TakeWorkerSocket() {
  struct stat info;
  if (fstat(kWorkerSocket, &info) != 0 || !S_ISSOCK(info.st_mode)) return hpc::UniqueFd();
  fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);
  fcntl(kWorkerSocket, F_SETFL, O_NONBLOCK);
  return hpc::UniqueFd(kWorkerSocket);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: hpc-supervisor ATTEMPT_DIR\n");
    return 2;
  }
  umask(077);
  if (chdir(argv[1]) != 0) {
    fprintf(stderr, "cannot enter %s: %s\n", argv[1], strerror(errno));
    return 1;
  }
#ifdef HPC_LOG_AT_ONCE
  hpc::worker::OpenLog();
#endif
  std::set_terminate([] {
    hpc::worker::Say("terminated by an exception");
    abort();
  });
  const auto bytes = hpc::worker::ReadSmallFile(AT_FDCWD, "spec");
  if (!bytes) {
    hpc::worker::SayErrno("read spec");
    return 1;
  }
  auto spec = hpc::worker::DecodeSupervisorSpec(*bytes);
  if (!spec) {
    hpc::worker::Say("this spec is not of our version (" HPC_VERSION ")");
    return 1;
  }
  hpc::worker::Supervisor supervisor(std::move(*spec));
  if (!supervisor.Prepare(TakeWorkerSocket())) return 1;
  supervisor.Run();
  return 0;
}
