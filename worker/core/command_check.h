// Which file a command names, and what is wrong with it, in words. Pure: the file system is asked
// through a function.
#ifndef HPC_WORKER_CORE_COMMAND_CHECK_H_
#define HPC_WORKER_CORE_COMMAND_CHECK_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hpc::worker {

// kHidden: a folder on the way to it may not be entered.
enum class FileKind { kMissing, kHidden, kDirectory, kNotExecutable, kExecutable };
struct FileFacts {
  FileKind kind = FileKind::kMissing;
  // Of an executable, its first kHeadBytes; unset if they cannot be read.
  std::optional<std::string> head;
};
// As much of a file as the kernel looks at to find its interpreter.
constexpr size_t kHeadBytes = 256;
using FileLook = std::function<FileFacts(const std::string& path)>;

// The file that execve is given for `command`: itself (below `workdir` if relative) when it has a
// slash, else the first match in `path` (colons apart; an empty entry is `workdir`).
// NotFound: no such file. PermissionDenied: not executable, hidden, a folder, or a text that the
// kernel cannot execute: without a "#!" line, or with one that it cannot follow. The messages begin
// with the node, name what was asked and `account`, which the command is to run as, unless it is
// "", and say what to do.
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
