// hpcctl, the command line.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "client/cli/command_line.h"
#include "common/pki/join_token.h"
#include "common/process/lock_order.h"
#include "common/process/private_memory.h"

namespace {

// If a standard descriptor is closed, one of our own would get its number, and output would be
// written to it.
void OpenStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) _exit(EXIT_FAILURE);
  }
}

}  // namespace

int main(int argc, char** argv) {
  OpenStandardDescriptors();
  // The other threads allocate next to nothing, but each would get a heap mapped for it.
  mallopt(M_ARENA_MAX, 1);
  hpc::KeepMemoryPrivate();
  hpc::TrustLockOrder();
  using hpc::client::Output;
  Output out = Output::ForFd(STDOUT_FILENO);
  Output err = Output::ForFd(STDERR_FILENO);
  hpc::client::Session session(&out, &err, [](const char* name) { return std::getenv(name); });
  const std::vector<std::string> words(argv + 1, argv + argc);
  hpc::pki::HideTokens(argc, argv);
  const int code = hpc::client::RunCommandLine(words, &session);
  // All is written. Returning from main would free, piece by piece, what ends with the process
  // anyway.
  _exit(code);
}
