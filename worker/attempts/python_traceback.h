// Finds the exception that ended a Python program in what it wrote to stderr. Pure.
#ifndef HPC_WORKER_ATTEMPTS_PYTHON_TRACEBACK_H_
#define HPC_WORKER_ATTEMPTS_PYTHON_TRACEBACK_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "worker/attempts/rank_report.h"

namespace hpc::worker {

// Python writes this before the frames of an exception.
inline constexpr absl::string_view kTracebackHeader = "Traceback (most recent call last):";

// Finds the last traceback in `text`. If that is one of a launcher (common/telling_line.h), which
// tells less, an earlier one is preferred. Returns its exception, and the traceback from the first
// line to the end of the exception's words. If one exception led to another, it begins with the
// first of them. Of a group of exceptions the group's own words are taken, and the traceback has
// all of its members. The prefix "[rank1]: ", which torch puts before each line, is removed. So is
// a progress bar in front of the traceback, whose line was open. nullopt: there is no traceback, or
// its beginning is missing.
std::optional<RankReport> FindTraceback(absl::string_view text);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_PYTHON_TRACEBACK_H_
