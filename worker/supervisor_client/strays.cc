#include "worker/supervisor_client/strays.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/os/cgroup_name.h"
#include "worker/supervisor/os/small_file.h"
#include "worker/supervisor_client/leftovers.h"
#include "worker/supervisor_client/supervisor_handle.h"

namespace hpc::worker {
namespace {

// Scopes of a user's own systemd are five levels deep; a container adds a few.
constexpr int kMaxDepth = 12;

using Visit = std::function<void(const std::string& path, const std::string& name,
                                 const std::string& attempt)>;

// Visits each folder that has the name of an attempt's cgroup, and does not look inside it.
void VisitCgroups(const std::string& folder, int depth, const Visit& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), &closedir);
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (entry->d_type != DT_DIR || name == "." || name == "..") continue;
    const std::string path = folder + "/" + name;
    if (const auto attempt = AttemptOfCgroup(name)) {
      visit(path, name, *attempt);
    } else if (depth > 0) {
      VisitCgroups(path, depth - 1, visit);
    }
  }
}

void VisitCgroups(const Visit& visit) {
  const std::string mount = Cgroup2Mount();
  if (!mount.empty()) VisitCgroups(mount, kMaxDepth, visit);
}

// The attempt dirs of the supervisors that run, by pid. They are their last arguments.
std::map<pid_t, std::string> Supervisors() {
  std::map<pid_t, std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), &closedir);
  while (const dirent* entry = proc == nullptr ? nullptr : readdir(proc.get())) {
    const auto pid = static_cast<pid_t>(atoll(entry->d_name));
    if (pid <= 1) continue;
    if (auto title = SupervisorTitle(pid)) found[pid] = *std::move(title);
  }
  return found;
}

}  // namespace

std::optional<std::string> SupervisorTitle(int64_t pid) {
  const std::string line =
      ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/cmdline").value_or("");
  const std::vector<std::string> arguments = absl::StrSplit(line, '\0', absl::SkipEmpty());
  if (arguments.size() < 2 || !absl::EndsWith(arguments[0], "hpc-supervisor")) return std::nullopt;
  return arguments.back();
}

std::vector<std::string> CgroupsOf(const std::string& attempt, const std::string& dir) {
  std::vector<std::string> paths;
  VisitCgroups([&](const std::string& path, const std::string& name, const std::string&) {
    if (IsCgroupOf(name, attempt, dir)) paths.push_back(path);
  });
  return paths;
}

std::vector<Stray> FindStrays(const std::string& prefix, const std::string& suffix) {
  std::set<std::string> attempts;
  VisitCgroups([&](const std::string&, const std::string& name, const std::string& attempt) {
    if (IsCgroupOf(name, attempt, prefix + attempt + suffix)) attempts.insert(attempt);
  });
  for (const auto& [pid, dir] : Supervisors()) {
    if (dir.size() <= prefix.size() + suffix.size()) continue;
    if (!absl::StartsWith(dir, prefix) || !absl::EndsWith(dir, suffix)) continue;
    attempts.insert(dir.substr(prefix.size(), dir.size() - prefix.size() - suffix.size()));
  }
  std::vector<Stray> strays;
  for (const std::string& attempt : attempts)
    strays.push_back({attempt, prefix + attempt + suffix});
  return strays;
}

absl::Status KillStray(const Stray& stray) {
  for (const auto& [pid, dir] : Supervisors()) {
    if (dir == stray.dir) kill(pid, SIGKILL);
  }
  return KillLeftovers(stray.attempt, stray.dir, {});
}

}  // namespace hpc::worker
