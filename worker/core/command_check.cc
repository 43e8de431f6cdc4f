#include "worker/core/command_check.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::worker {
namespace {

// MAX_ARG_STRLEN of the kernel.
constexpr size_t kLongestString = 128 * 1024;

// `file` in `folder`, without "." and empty parts; ".." stays, since links may be on the way.
std::string Below(absl::string_view folder, absl::string_view file) {
  std::string path;
  for (const absl::string_view whole : {folder, file}) {
    for (const absl::string_view part : absl::StrSplit(whole, '/')) {
      if (!part.empty() && part != ".") absl::StrAppend(&path, "/", part);
    }
  }
  return path.empty() ? "/" : path;
}

std::string UsualInterpreter(absl::string_view file) {
  if (absl::EndsWith(file, ".py")) return "python";
  return absl::EndsWith(file, ".sh") ? "bash" : "its interpreter";
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

// What would make the kernel refuse a text, whose own words for it name neither file.
absl::Status CheckInterpreter(const std::string& node, const std::string& workdir,
                              const std::string& file, absl::string_view head,
                              const FileLook& look) {
  // Other formats are the kernel's business.
  if (absl::StrContains(head, absl::string_view("\0", 1))) return absl::OkStatus();
  const auto refuse = [&](absl::string_view problem) {
    return absl::PermissionDeniedError(absl::StrCat(node, ": '", file, "' ", problem));
  };
  const std::string in_front = absl::StrCat("put ", UsualInterpreter(file), " in front");
  if (!absl::ConsumePrefix(&head, "#!")) {
    return refuse(absl::StrCat("has no #! line that names its interpreter: ", in_front));
  }
  const absl::string_view line = head.substr(0, head.find('\n'));
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
  const std::string interpreter(text.substr(0, text.find_first_of(" \t\r")));
  if (absl::EndsWith(line, "\r")) {
    return refuse(absl::StrCat("has Windows line ends, so that '",
                               absl::StripTrailingAsciiWhitespace(text),
                               "\\r' of its #! line is not found: sed -i 's/\\r$//' it"));
  }
  if (interpreter.empty()) return refuse("names no interpreter in its #! line: " + in_front);
  const FileKind kind =
      look(interpreter[0] == '/' ? interpreter : Below(workdir, interpreter)).kind;
  if (kind == FileKind::kExecutable) return absl::OkStatus();
  return refuse(absl::StrCat("wants the interpreter '", interpreter, "', which ",
                             kind == FileKind::kMissing ? "does not exist" : "is not executable",
                             " there: name another in its #! line, or ", in_front));
}

absl::Status NotFound(const std::string& node, const std::string& command,
                      absl::string_view problem, const std::string& remedy) {
  return absl::NotFoundError(absl::StrCat(node, ": command '", command, "' ", problem,
                                          remedy.empty() ? "" : ": ", remedy));
}

// Where one argument holds a whole command line.
std::string QuotesRemedy(absl::string_view command) {
  return absl::StrContains(command, " ")
             ? absl::StrCat("leave out the quotes around it (hpcctl run -- ", command, ")")
             : "";
}

// `hidden`: a folder of PATH that is closed to the account, or "". `here`: what the working
// directory has of that name.
std::string NotInPathRemedy(const std::string& account, const std::string& command,
                            const std::string& hidden, FileKind here) {
  if (here == FileKind::kExecutable || here == FileKind::kNotExecutable) {
    return absl::StrCat("it is in the working directory: ",
                        absl::EndsWith(command, ".py") ? "python " + command + " or " : "", "./",
                        command);
  }
  if (!hidden.empty()) return absl::StrCat(hidden, " may not be entered", ByAccount(account));
  return QuotesRemedy(command);
}

}  // namespace

std::string ByAccount(const std::string& account) {
  return account.empty() ? "" : " by the account " + account;
}

absl::StatusOr<std::string> ResolveCommand(const std::string& node, const std::string& account,
                                           const std::string& command, const std::string& workdir,
                                           const std::string& path, const FileLook& look) {
  if (command.empty()) return absl::NotFoundError(node + ": the command is empty");
  const auto checked = [&](const std::string& file,
                           const FileFacts& facts) -> absl::StatusOr<std::string> {
    if (facts.head) {
      HPC_RETURN_IF_ERROR(CheckInterpreter(node, workdir, file, *facts.head, look));
    }
    return file;
  };
  if (absl::StrContains(command, "/")) {
    const std::string file = command[0] == '/' ? Below("", command) : Below(workdir, command);
    const FileFacts facts = look(file);
    if (facts.kind == FileKind::kExecutable) return checked(file, facts);
    if (facts.kind == FileKind::kMissing) {
      return NotFound(node, file, "does not exist", QuotesRemedy(command));
    }
    return NotExecutable(node, account, file, facts.kind);
  }
  std::optional<absl::Status> nearly;
  std::string hidden;
  for (const std::string& entry : std::vector<std::string>(absl::StrSplit(path, ':'))) {
    const std::string folder = entry.empty() ? workdir : entry;
    const std::string file = Below(folder, command);
    const FileFacts facts = look(file);
    if (facts.kind == FileKind::kExecutable) return checked(file, facts);
    if (facts.kind == FileKind::kHidden && hidden.empty()) hidden = folder;
    if (facts.kind == FileKind::kNotExecutable && !nearly) {
      nearly = NotExecutable(node, account, file, facts.kind);
    }
  }
  if (nearly) return *nearly;
  return NotFound(node, command, "was not found in PATH",
                  NotInPathRemedy(account, command, hidden, look(Below(workdir, command)).kind));
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
