// The journal of an attempt as text. There is one line per event, with fields separated by one
// space, below the journal's title (record.h).
//
//   ready 4711 cgroup 5f3c...-boot-id /sys/fs/cgroup/hpc/12.2-4711
//   started 0 4712 1234567890
//   start-failed 1 2 execve%20/no/such/file
//   stop 1234567890 cancelled%20by%20anna
//   exited 0 15 1 1234567890 2000 1000 3456       status, after_stop, at, user, system, max rss
//   caught-sigterm 0                              rank; its end is on the next line
//   cut 0 1 1048576 77                            rank, is_stderr, bytes, cut bytes
//   shortage 1234567890 28 write%20rank-0.out     at, errno, what
//   gone 1234567890 1500000 2                     at, kill_ns, killed
#ifndef HPC_WORKER_SUPERVISOR_PROTOCOL_JOURNAL_LINE_H_
#define HPC_WORKER_SUPERVISOR_PROTOCOL_JOURNAL_LINE_H_

#include <cstdint>
#include <string>
#include <variant>

#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

// The first line of an attempt: who wrote this journal, and what to kill if the writer cannot go
// on.
struct JournalHeader {
  int64_t pid = 0;
  std::string containment;
  std::string boot_id;  // of the machine; after another boot nothing of the attempt is left
  std::string cgroup;   // the leaf that holds the ranks, or ""
};

// The line without its line end; "" for SupervisorReady and NotGone, which have no line.
std::string JournalLine(const JournalHeader& header);
std::string JournalLine(const SupervisorEvent& event);

// `line` is given without its line end. monostate: it is not one of our lines.
std::variant<std::monostate, JournalHeader, SupervisorEvent> ParseJournalLine(
    const std::string& line);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_PROTOCOL_JOURNAL_LINE_H_
