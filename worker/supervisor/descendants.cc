#include "worker/supervisor/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "worker/supervisor/os/small_file.h"

namespace hpc::worker {
namespace {

// Children belong to the thread that made them, so all threads are listed.
std::vector<int64_t> Threads(int64_t pid) {
  std::vector<int64_t> threads;
  DIR* dir = opendir(("/proc/" + std::to_string(pid) + "/task").c_str());
  if (dir == nullptr) return threads;
  while (const dirent* entry = readdir(dir)) {
    const int64_t thread = atoll(entry->d_name);
    if (thread > 0) threads.push_back(thread);
  }
  closedir(dir);
  return threads;
}

int64_t resident = -1;

template <typename Visit>
void WalkDown(int64_t pid, int depth, Visit visit) {
  for (const int64_t child : ChildrenOf(pid)) {
    if (child == resident) continue;
    visit(child);
    if (depth > 0) WalkDown(child, depth - 1, visit);
  }
}

// Deeper processes come nearer as those above them die.
constexpr int kDepth = 64;

}  // namespace

std::vector<int64_t> ChildrenOf(int64_t pid) {
  std::vector<int64_t> children;
  for (const int64_t thread : Threads(pid)) {
    const auto text = ReadSmallFile(
        AT_FDCWD, "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/children");
    for (const int64_t child : Numbers(text.value_or(""))) children.push_back(child);
  }
  return children;
}

std::vector<int64_t> OwnChildren() {
  std::vector<int64_t> children = ChildrenOf(getpid());
  children.erase(std::remove(children.begin(), children.end(), resident), children.end());
  return children;
}

void SetResident(int64_t pid) { resident = pid; }

int64_t Resident() { return resident; }

std::vector<int64_t> Descendants() {
  std::vector<int64_t> found;
  WalkDown(getpid(), kDepth, [&](int64_t pid) { found.push_back(pid); });
  return found;
}

void KillDescendants() {
  // Each process is killed as soon as it is seen: one that keeps forking must not get the time that
  // a whole list takes.
  WalkDown(getpid(), kDepth, [](int64_t pid) { kill(static_cast<pid_t>(pid), SIGKILL); });
}

}  // namespace hpc::worker
