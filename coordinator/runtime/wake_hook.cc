#include "coordinator/runtime/wake_hook.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files/files.h"
#include "common/process/log.h"

namespace hpc::coordinator {
namespace {

// The daemon blocks the signals that end it; its children must not inherit that.
void UnblockSignals(posix_spawnattr_t* attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

}  // namespace

std::vector<std::string> WakeHookEnvironment(const WakeNode& wake) {
  std::vector<std::string> macs;
  for (const protocol::NetworkInterface& interface : wake.interfaces) {
    if (!interface.mac.empty()) macs.push_back(interface.mac);
  }
  return {absl::StrCat("HPC_NODE=", wake.node), absl::StrCat("HPC_MACS=", absl::StrJoin(macs, " ")),
          absl::StrCat("HPC_WAKE_PACKET=", wake.packet)};
}

absl::Status WakeHook::Wake(const WakeNode& wake) {
  Reap();
  if (running_.contains(wake.node)) return absl::OkStatus();
  std::vector<std::string> added = WakeHookEnvironment(wake);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!absl::StartsWith(*entry, "HPC_")) environment.push_back(*entry);
  }
  for (std::string& entry : added) environment.push_back(entry.data());
  environment.push_back(nullptr);

  std::string shell = "/bin/sh", option = "-c", command = command_;
  char* arguments[] = {shell.data(), option.data(), command.data(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  UnblockSignals(&attributes);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, shell.c_str(), nullptr, &attributes, arguments, environment.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return ErrnoStatus(error, "start the wake hook");
  running_[wake.node] = pid;
  return absl::OkStatus();
}

size_t WakeHook::Reap() {
  for (auto it = running_.begin(); it != running_.end();) {
    int status = 0;
    if (waitpid(it->second, &status, WNOHANG) == 0) {
      ++it;
      continue;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      LogWarning("the wake hook failed",
                 {{"node", it->first},
                  {WIFEXITED(status) ? "exit" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)}});
    }
    it = running_.erase(it);
  }
  return running_.size();
}

}  // namespace hpc::coordinator
