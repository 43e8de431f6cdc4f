#include "worker/supervisor/process_title.h"

#include <string.h>

namespace hpc::worker {

// The kernel puts them one behind the other, each with its null.
ProcessTitle::ProcessTitle(int argc, char** argv)
    : begin_(argv[0]), end_(argv[argc - 1] + strlen(argv[argc - 1])) {}

void ProcessTitle::Set(const std::vector<std::string>& arguments) {
  memset(begin_, 0, static_cast<size_t>(end_ - begin_));
  char* at = begin_;
  for (const std::string& argument : arguments) {
    if (argument.size() >= static_cast<size_t>(end_ - at)) return;
    memcpy(at, argument.data(), argument.size());
    at += argument.size() + 1;
  }
}

}  // namespace hpc::worker
