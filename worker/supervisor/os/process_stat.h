// What /proc says of a process in one line.
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
  int64_t group = 0;
  int64_t session = 0;
  int64_t started_ns = 0;  // CLOCK_BOOTTIME

  // Its main thread has, and mostly with it the whole process, which then waits to be reaped. Not
  // one of which another thread is held up in the kernel: it keeps all that it has open.
  bool Ended() const { return state == 'Z' || state == 'X'; }
};

// From the text of /proc/<pid>/stat, zero for numbers that it ends before; nullopt if it is not
// such a text.
std::optional<ProcessStat> ParseProcessStat(const std::string& text);

// nullopt: there is no such process or thread.
std::optional<ProcessStat> ReadProcessStat(int64_t pid);

// Who a process really is; its folder in /proc is root's if it does not want to be looked at.
std::optional<uid_t> RealUid(int64_t pid);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_PROCESS_STAT_H_
