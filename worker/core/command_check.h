// Which file a command names, and what is wrong with it, in words. Pure: the file system is asked
// through a function.
#ifndef HPC_WORKER_CORE_COMMAND_CHECK_H_
#define HPC_WORKER_CORE_COMMAND_CHECK_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hpc::worker {

// kHidden: a folder on the way to it may not be entered.
enum class FileKind { kMissing, kHidden, kDirectory, kNotExecutable, kExecutable };
using FileLook = std::function<FileKind(const std::string& path)>;

// The file that execve is given for `command`: itself (below `workdir` if relative) when it has a
// slash, else the first match in `path` (colons apart; an empty entry is `workdir`).
// NotFound: no such file. PermissionDenied: not executable, hidden, or a folder. The messages begin
// with the node and name what was asked and where it was looked for, and `account`, which the
// command is to run as, unless it is "".
absl::StatusOr<std::string> ResolveCommand(const std::string& node, const std::string& account,
                                           const std::string& command, const std::string& workdir,
                                           const std::string& path, const FileLook& look);

// "" for the worker's own account, else " by the account hpc".
std::string ByAccount(const std::string& account);

// Whether the kernel will take this much: FailedPrecondition if all of it exceeds `limit` bytes or
// one string the kernel's 128 KiB.
absl::Status CheckExecSize(const std::string& node, const std::vector<std::string>& argv,
                           const std::vector<std::string>& env, size_t limit);

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_COMMAND_CHECK_H_
