#include "worker/state_dirs.h"

#include <utility>

namespace hpc::worker {
namespace {

constexpr char kSystemStateDir[] = "/var/lib/hpc-worker";
constexpr uid_t kRoot = 0;

}  // namespace

std::vector<std::string> DefaultStateDirs(uid_t user, const Environment& environment) {
  std::string own = UserStateDir("worker", environment);
  if (user == kRoot || own.empty()) return {kSystemStateDir};
  return {std::move(own), kSystemStateDir};
}

}  // namespace hpc::worker
