#include "coordinator/rpc/doors/descriptors.h"

#include <algorithm>

#include "common/process/open_files.h"

namespace hpc::coordinator {
namespace {

// If there were no descriptor for a file that must be opened, its work would have to wait.
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
  return static_cast<int>(std::min(limit.rlim_cur, kMostOpenFiles));
}

}  // namespace hpc::coordinator
