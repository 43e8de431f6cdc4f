#include "coordinator/rpc/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/log.h"

namespace hpc::coordinator {
namespace {

constexpr rlim_t kMostDescriptors = 1 << 20;
// Without a descriptor for a file that is due, what it is for would have to wait.
constexpr int kForFiles = 64;
constexpr int kMostLocal = 16384;

}  // namespace

DescriptorPlan PlanDescriptors(int limit) {
  const int local_end = limit - std::min(kForFiles, limit / 4);
  return {.tcp_end = local_end - std::min(kMostLocal, limit / 4), .local_end = local_end};
}

int DescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<int>(std::min(limit.rlim_cur, kMostDescriptors));
}

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kMostDescriptors);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  LogWarning("cannot raise the limit of open files (LimitNOFILE)",
             {{"wanted", wanted}, {"error", strerror(errno)}});
}

}  // namespace hpc::coordinator
