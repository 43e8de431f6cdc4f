// The one line of a program's last words that says what went wrong. Pure.
#ifndef HPC_COMMON_TELLING_LINE_H_
#define HPC_COMMON_TELLING_LINE_H_

#include "absl/strings/string_view.h"

namespace hpc {

// Returns the last line that names a Python exception, without torch's "[rank1]: ". If there is
// none, returns the last line, since a program speaks of its failure at its end. Warnings of
// Python, and what torch logs as a warning or for information, are left out, since a program goes
// on after them. So are the supervisor's own notes, "[hpcctl: 80 bytes of output are missing here".
// Returns "" if nothing is left.
absl::string_view TellingLine(absl::string_view text);

// Whether the line is the exception with which a launcher ends when one of its processes has
// failed: "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:" of torchrun, or
// "subprocess.CalledProcessError: Command '...' returned non-zero exit status 1." of accelerate. It
// does not say why, so what its process said before tells more.
bool IsOfLauncher(absl::string_view line);

}  // namespace hpc

#endif  // HPC_COMMON_TELLING_LINE_H_
