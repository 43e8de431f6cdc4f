#include "train/program/standard_output.h"

#include <errno.h>
#include <string.h>

#include <cstdio>
#include <utility>

namespace hpc::train {
namespace {

bool output_was_lost = false;

}  // namespace

void Print(const std::string& text) {
  const size_t wrote = std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) == 0 && wrote == text.size()) return;
  if (!std::exchange(output_was_lost, true)) {
    std::fprintf(stderr,
                 "%s: standard output cannot be written (%s): it goes on, and ends with 1\n",
                 program_invocation_short_name, strerror(errno));
  }
}

bool OutputWasLost() { return output_was_lost; }

}  // namespace hpc::train
