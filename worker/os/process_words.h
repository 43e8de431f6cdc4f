// Tells what a process is doing, as far as the kernel says so without holding up the process or us.
#ifndef HPC_WORKER_OS_PROCESS_WORDS_H_
#define HPC_WORKER_OS_PROCESS_WORDS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace hpc::worker {

// "python3 (4711) sleeps in futex_wait_queue"; "" if there is no such process. Reads nothing that
// needs the process's memory, since that would wait for a process that is stuck in it.
std::string ProcessWords(int64_t pid);

// The same, made from the text of /proc/<pid>/stat and wchan. Pure.
std::string WordsOfStat(absl::string_view stat, absl::string_view wchan);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_PROCESS_WORDS_H_
