#include "common/process/open_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "common/process/log.h"

namespace hpc {
namespace {

// The limit before RaiseOpenFiles. It holds for the whole process, as the limit itself does.
std::optional<rlimit>& Before() {
  static std::optional<rlimit> before;
  return before;
}

}  // namespace

void RaiseOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kMostOpenFiles);
  if (limit.rlim_cur >= wanted) return;
  Before() = limit;
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  LogWarning("cannot raise the limit of open files (LimitNOFILE)",
             {{"wanted", wanted}, {"error", strerror(errno)}});
}

rlimit InheritedOpenFiles() {
  if (Before()) return *Before();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit;
}

}  // namespace hpc
