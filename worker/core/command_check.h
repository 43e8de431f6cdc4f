// Which file a command names, and what is wrong with it, in words. Pure: it asks a function about
// the file system.
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

// kHidden: a folder on the way to the file may not be entered.
enum class FileKind { kMissing, kHidden, kDirectory, kNotExecutable, kExecutable };
struct FileFacts {
  FileKind kind = FileKind::kMissing;
  // For an executable: its first kHeadBytes. Unset if they cannot be read.
  std::optional<std::string> head;
};
// How much of a file the kernel looks at to find its interpreter.
constexpr size_t kHeadBytes = 256;
using FileLook = std::function<FileFacts(const std::string& path)>;

// The file that execve is given for `command`. If `command` has a slash, that is `command` itself
// (below `workdir` if it is relative). Otherwise it is the first match in `path`, whose entries are
// separated by colons; an empty entry stands for `workdir`.
//
// NotFound: there is no such file. PermissionDenied: it is not executable, hidden, a folder, or a
// text that the kernel cannot execute because it has no "#!" line, or one that leads nowhere. The
// messages begin with the node, name what was asked for, and say what to do. They also name
// `account`, which the command is to run as, unless that is "".
absl::StatusOr<std::string> ResolveCommand(const std::string& node, const std::string& account,
                                           const std::string& command, const std::string& workdir,
                                           const std::string& path, const FileLook& look);

// "" for the worker's own account, otherwise " by the account hpc".
std::string ByAccount(const std::string& account);

// Whether the kernel accepts this much. FailedPrecondition: all of it together exceeds `limit`
// bytes, or one string exceeds the kernel's 128 KiB.
absl::Status CheckExecSize(const std::string& node, const std::vector<std::string>& argv,
                           const std::vector<std::string>& env, size_t limit);

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_COMMAND_CHECK_H_
