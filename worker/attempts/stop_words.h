// The reason of a stop, as a supervisor is told it and writes it in its journal. From it, the next
// worker learns who wanted the stop.
#ifndef HPC_WORKER_ATTEMPTS_STOP_WORDS_H_
#define HPC_WORKER_ATTEMPTS_STOP_WORDS_H_

#include <cstdint>
#include <string>

#include "protocol/halt.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

// kNone: the coordinator wants the stop, and gives the words in `reason`.
std::string StopWords(protocol::HaltKind halt, const std::string& reason);

// Whether the supervisor stopped for a reason of its own.
bool IsItsOwnReason(const std::string& words);

// What the stop means, with its age at `now_ns` of CLOCK_BOOTTIME. kNone: the coordinator wanted
// it.
protocol::Halt HaltOfStop(const StopBegan& stop, int64_t now_ns);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_STOP_WORDS_H_
