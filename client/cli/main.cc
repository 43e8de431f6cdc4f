// hpcctl, the command line.
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "client/cli/command_line.h"
#include "common/lock_order.h"
#include "common/pki/join_token.h"
#include "common/private_memory.h"
#include "member/quiet_engine.h"

int main(int argc, char** argv) {
  // Its other threads allocate next to nothing: a heap for each would be mapped for it.
  mallopt(M_ARENA_MAX, 1);
  hpc::KeepMemoryPrivate();
  hpc::TrustLockOrder();
  hpc::member::UseQuietEngine();
  using hpc::client::Output;
  Output out = Output::ForFd(STDOUT_FILENO);
  Output err = Output::ForFd(STDERR_FILENO);
  hpc::client::Session session(&out, &err, [](const char* name) { return std::getenv(name); });
  const std::vector<std::string> words(argv + 1, argv + argc);
  hpc::pki::HideTokens(argc, argv);
  const int code = hpc::client::RunCommandLine(words, &session);
  // All is written. Returning would take apart what the process takes with it, and where gRPC was
  // needed wait for its threads.
  _exit(code);
}
