// What /proc says about a process in one line.
#ifndef HPC_WORKER_SUPERVISOR_OS_PROCESS_STAT_H_
#define HPC_WORKER_SUPERVISOR_OS_PROCESS_STAT_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hpc::worker {

struct ProcessStat {
  int64_t pid = 0;
  std::string name;  // any bytes
  char state = 0;    // 'R', 'S', 'D', 'T', 't', 'Z', ...
  int64_t parent = 0;
  int64_t group = 0;
  int64_t session = 0;
  int64_t started_ns = 0;  // CLOCK_BOOTTIME

  // Whether the main thread has ended. Mostly the whole process has ended with it, and waits to be
  // reaped. But if another thread is stuck in the kernel, the process keeps everything that it has
  // open.
  bool Ended() const { return state == 'Z' || state == 'X'; }
};

// Parses the text of /proc/<pid>/stat. Numbers beyond its end are zero. nullopt if it is not such a
// text.
std::optional<ProcessStat> ParseProcessStat(const std::string& text);

// nullopt: there is no such process or thread.
std::optional<ProcessStat> ReadProcessStat(int64_t pid);

// The real uid of a process. It is not the owner of its folder in /proc, which belongs to root if
// the process may not be inspected.
std::optional<uid_t> RealUid(int64_t pid);

// Whether the signal does not simply end the process: it has a handler for it, or blocks or ignores
// it, so that another thread or a child may answer it. False if the process has ended.
bool AnswersSignal(int64_t pid, int signal);
// False if the process has ended.
bool IgnoresSignal(int64_t pid, int signal);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_PROCESS_STAT_H_
