#include "train/tool/standard_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace hpc::train {
namespace {

bool output_was_lost = false;
FILE* output = stdout;

}  // namespace

void Print(const std::string& text) {
  const size_t wrote = std::fwrite(text.data(), 1, text.size(), output);
  if (std::fflush(output) == 0 && wrote == text.size()) return;
  if (!std::exchange(output_was_lost, true)) {
    std::fprintf(stderr,
                 "%s: standard output cannot be written (%s): it goes on, and ends with 1\n",
                 program_invocation_short_name, strerror(errno));
  }
}

void KeepStandardOutput() {
  const int kept = output == stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
  if (kept < 0) return;
  std::fflush(stdout);
  output = fdopen(kept, "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

bool OutputWasLost() { return output_was_lost; }

}  // namespace hpc::train
