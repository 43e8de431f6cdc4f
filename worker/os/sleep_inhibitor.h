// Keeps the PC from suspending itself while ranks run, as a desktop does that nobody touches. The
// lock is logind's, and is held by a program that ends when this process does, however that ends.
#ifndef HPC_WORKER_OS_SLEEP_INHIBITOR_H_
#define HPC_WORKER_OS_SLEEP_INHIBITOR_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// systemd-inhibit, which holds the lock for as long as `cat` reads from the pipe. It is seen in
// `systemd-inhibit --list`.
std::vector<std::string> SystemdInhibit();

class SleepInhibitor {
 public:
  // `command` is a program of PATH with its arguments. It holds the lock until its standard input
  // ends.
  explicit SleepInhibitor(std::vector<std::string> command = SystemdInhibit())
      : command_(std::move(command)) {}
  ~SleepInhibitor() { Release(absl::ZeroDuration()); }
  SleepInhibitor(const SleepInhibitor&) = delete;
  SleepInhibitor& operator=(const SleepInhibitor&) = delete;

  // Takes the lock unless it is held. Where the command is missing, or ends by itself since there
  // is no logind, nothing holds the PC awake, and it is not tried again before a Release.
  void Hold();
  // Lets the lock go, and waits as long as `patience` for the command to end. A command that takes
  // longer is reaped by a later call of Hold or Release.
  void Release(absl::Duration patience);

 private:
  void Reap(absl::Duration patience);

  const std::vector<std::string> command_;
  UniqueFd pipe_;  // the end that the command's standard input waits for
  pid_t pid_ = 0;  // the command's; 0: none is left
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_SLEEP_INHIBITOR_H_
