#include "worker/core/command_check.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/text.h"

namespace hpc::worker {
namespace {

// MAX_ARG_STRLEN of the kernel.
constexpr size_t kLongestString = 128 * 1024;

std::string Below(const std::string& folder, const std::string& file) {
  return folder == "/" ? "/" + file : folder + "/" + file;
}

absl::Status NotExecutable(const std::string& node, const std::string& account,
                           const std::string& file, FileKind kind) {
  switch (kind) {
    case FileKind::kDirectory:
      return absl::PermissionDeniedError(absl::StrCat(node, ": '", file, "' is a folder"));
    case FileKind::kHidden:
      return absl::PermissionDeniedError(
          absl::StrCat(node, ": '", file, "' may not be reached", ByAccount(account),
                       " (a folder on the way is closed: chmod it, or choose another place)"));
    default:
      return absl::PermissionDeniedError(
          absl::StrCat(node, ": '", file, "' is not executable", ByAccount(account),
                       " (chmod +x it, or put its interpreter in front)"));
  }
}

// `path` was searched.
absl::Status NotInPath(const std::string& node, const std::string& account,
                       const std::string& command, const std::string& path,
                       const std::string& hidden) {
  return absl::NotFoundError(absl::StrCat(
      node, ": command '", command, "' was not found in PATH ", path,
      hidden.empty() ? "" : absl::StrCat("; ", hidden, " may not be entered", ByAccount(account))));
}

}  // namespace

std::string ByAccount(const std::string& account) {
  return account.empty() ? "" : " by the account " + account;
}

absl::StatusOr<std::string> ResolveCommand(const std::string& node, const std::string& account,
                                           const std::string& command, const std::string& workdir,
                                           const std::string& path, const FileLook& look) {
  if (command.empty()) return absl::NotFoundError(node + ": the command is empty");
  if (command.find('/') != std::string::npos) {
    const std::string file = command[0] == '/' ? command : Below(workdir, command);
    const FileKind kind = look(file);
    if (kind == FileKind::kExecutable) return file;
    if (kind == FileKind::kMissing) {
      return absl::NotFoundError(absl::StrCat(node, ": command '", file, "' does not exist"));
    }
    return NotExecutable(node, account, file, kind);
  }
  std::optional<absl::Status> nearly;
  std::string hidden;
  for (const std::string& entry : std::vector<std::string>(absl::StrSplit(path, ':'))) {
    const std::string folder = entry.empty() ? workdir : entry;
    const std::string file = Below(folder, command);
    const FileKind kind = look(file);
    if (kind == FileKind::kExecutable) return file;
    if (kind == FileKind::kHidden && hidden.empty()) hidden = folder;
    if (kind == FileKind::kNotExecutable && !nearly) {
      nearly = NotExecutable(node, account, file, kind);
    }
  }
  if (nearly) return *nearly;
  return NotInPath(node, account, command, path, hidden);
}

absl::Status CheckExecSize(const std::string& node, const std::vector<std::string>& argv,
                           const std::vector<std::string>& env, size_t limit) {
  size_t all = 0;
  for (const auto* list : {&argv, &env}) {
    for (const std::string& text : *list) {
      // The kernel counts the NUL and the pointer as well.
      all += text.size() + 1 + sizeof(char*);
      if (text.size() < kLongestString) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(node, ": an argument or variable that begins with '", text.substr(0, 40),
                       "' has ", HumanBytes(text.size()), "; Linux takes at most ",
                       HumanBytes(kLongestString), " in one: put it into a file"));
    }
  }
  if (all <= limit) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(node, ": arguments and environment have ", HumanBytes(all),
                   "; this machine takes at most ", HumanBytes(limit), ": put them into a file"));
}

}  // namespace hpc::worker
