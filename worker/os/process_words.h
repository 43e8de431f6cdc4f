// What a process is doing, as far as the kernel tells without holding it or us up.
#ifndef HPC_WORKER_OS_PROCESS_WORDS_H_
#define HPC_WORKER_OS_PROCESS_WORDS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace hpc::worker {

// "python3 (4711) sleeps in futex_wait_queue"; "" of a process that is not there. Reads nothing
// that needs the process's memory: that would wait for one that is stuck in it.
std::string ProcessWords(int64_t pid);

// The same from /proc/<pid>/stat and wchan. Pure.
std::string WordsOfStat(absl::string_view stat, absl::string_view wchan);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_PROCESS_WORDS_H_
