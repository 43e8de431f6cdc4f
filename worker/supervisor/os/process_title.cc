#include "worker/supervisor/os/process_title.h"

#include <string.h>

namespace hpc::worker {

// The kernel puts the arguments one behind the other, each with its null.
ProcessTitle::ProcessTitle(int argc, char** argv)
    : begin_(argv[0]), end_(argv[argc - 1] + strlen(argv[argc - 1])) {}

void ProcessTitle::Set(const std::vector<std::string>& arguments) {
  char* at = begin_;
  for (const std::string& argument : arguments) {
    if (argument.size() >= static_cast<size_t>(end_ - at)) break;
    memcpy(at, argument.c_str(), argument.size() + 1);
    at += argument.size() + 1;
  }
  // The rest is cleared last, so that whoever reads the title meanwhile still finds a supervisor.
  memset(at, 0, static_cast<size_t>(end_ - at));
}

}  // namespace hpc::worker
