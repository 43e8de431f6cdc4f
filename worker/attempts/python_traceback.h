// Finds the exception that ended a Python program in what it wrote to stderr. Pure.
#ifndef HPC_WORKER_ATTEMPTS_PYTHON_TRACEBACK_H_
#define HPC_WORKER_ATTEMPTS_PYTHON_TRACEBACK_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "worker/attempts/rank_report.h"

namespace hpc::worker {

// The last traceback in `text`, or one before that of torch's launcher, which tells less: its
// exception, and the traceback from its first line (of the first exception, where one led to
// another) to the end of the exception's words. Without torch's "[rank1]: " before each line.
// nullopt: there is none, or its beginning is missing.
std::optional<RankReport> FindTraceback(absl::string_view text);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_PYTHON_TRACEBACK_H_
