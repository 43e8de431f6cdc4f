// When this PC's worker was told to end, for the worker after it. A PC that goes down tells all of
// its processes to end, so this explains why ranks ended at that time.
#ifndef HPC_WORKER_RUNTIME_TOLD_TO_END_H_
#define HPC_WORKER_RUNTIME_TOLD_TO_END_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace hpc::worker {

// `at_ns`: CLOCK_BOOTTIME of the boot `boot_id`. The file is durable when this returns.
absl::Status WriteToldToEnd(const std::string& state_dir, const std::string& boot_id,
                            int64_t at_ns);
// How long before `now_ns` that was. nullopt: never, on another boot, or the file is damaged.
std::optional<absl::Duration> ReadToldToEnd(const std::string& state_dir,
                                            const std::string& boot_id, int64_t now_ns);

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_TOLD_TO_END_H_
