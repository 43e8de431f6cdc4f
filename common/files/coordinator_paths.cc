#include "common/files/coordinator_paths.h"

#include "absl/strings/str_cat.h"

namespace hpc {
namespace {

constexpr char kSystemStateDir[] = "/var/lib/hpc/coordinator";
constexpr char kSystemSocket[] = "/run/hpc/coordinator.sock";
constexpr uid_t kRoot = 0;

// Returns the variable's value, or "" when it is not set.
std::string Value(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

std::string StateDirOf(uid_t user, const Environment& environment) {
  const std::string own = UserStateDir("coordinator", environment);
  return user == kRoot || own.empty() ? kSystemStateDir : own;
}

std::string SocketBelow(const std::string& runtime_dir) {
  return absl::StrCat(runtime_dir, "/hpc/coordinator.sock");
}

}  // namespace

CoordinatorPaths DefaultCoordinatorPaths(uid_t user, const Environment& environment) {
  if (user == kRoot) return {kSystemStateDir, kSystemSocket};
  const std::string state_dir = StateDirOf(user, environment);
  const std::string runtime_dir = Value(environment, "XDG_RUNTIME_DIR");
  return {state_dir, runtime_dir.empty() ? SocketIn(state_dir) : SocketBelow(runtime_dir)};
}

std::string SocketIn(const std::string& state_dir) {
  return absl::StrCat(state_dir, "/coordinator.sock");
}

std::vector<std::string> CoordinatorSockets(uid_t user, const Environment& environment) {
  if (user == kRoot) return {kSystemSocket};
  std::string runtime_dir = Value(environment, "XDG_RUNTIME_DIR");
  if (runtime_dir.empty()) runtime_dir = absl::StrCat("/run/user/", user);
  return {SocketBelow(runtime_dir), SocketIn(StateDirOf(user, environment)), kSystemSocket};
}

}  // namespace hpc
