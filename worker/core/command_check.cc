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

// This is the kernel's MAX_ARG_STRLEN.
constexpr size_t kLongestString = 128 * 1024;

constexpr absl::string_view kOtherPath =
    "set another PATH (--env PATH=..., or for all runs in that node's /etc/default/hpc-worker)";

// The path of `file` in `folder`, without "." and empty parts. ".." stays, since links may be on
// the way.
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

// Finds what would make the kernel refuse a script. The kernel's own error names neither the script
// nor the interpreter.
absl::Status CheckInterpreter(const std::string& node, const std::string& workdir,
                              const std::string& file, absl::string_view head,
                              const FileLook& look) {
  // Formats that are not text are the kernel's business.
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

// The remedy if one argument holds a whole command line.
std::string QuotesRemedy(absl::string_view command) {
  return absl::StrContains(command, " ")
             ? absl::StrCat("leave out the quotes around it (hpcctl run -- ", command, ")")
             : "";
}

// The whole path would hide what follows it.
std::string Shortened(const std::string& path) {
  constexpr size_t kShown = 120;
  if (path.size() <= kShown) return path;
  const size_t end = path.rfind(':', kShown);
  const std::string shown = path.substr(0, end == std::string::npos ? kShown : end);
  return absl::StrCat(ToValidUtf8(shown), " and ", path.size() - shown.size(), " bytes more");
}

// What is known about a command that was not found in PATH.
struct Missed {
  std::string hidden;   // a folder of PATH that is closed to the account, or ""
  std::string python3;  // where it is, or ""
  bool here = false;    // the working directory has a file of this name
};

// Names only the most likely cause.
std::string NotInPathRemedy(const std::string& account, const std::string& command,
                            const Missed& missed) {
  if (missed.here && absl::EndsWith(command, ".py")) {
    return absl::StrCat(
        "it is in the working directory: ", missed.python3.empty() ? "python " : "python3 ",
        command, " or ./", command);
  }
  if (missed.here) return "it is in the working directory: ./" + command;
  if (const std::string quotes = QuotesRemedy(command); !quotes.empty()) return quotes;
  if (command == "python" && !missed.python3.empty()) {
    return absl::StrCat("'python3' is there (", missed.python3, "): name that one, or ",
                        kOtherPath);
  }
  const std::string anyhow = absl::StrCat("install it, name its whole path, or ", kOtherPath);
  if (missed.hidden.empty()) return anyhow;
  return absl::StrCat(anyhow, " (", missed.hidden, " may not be entered", ByAccount(account),
                      ", so that it was not looked for there)");
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
  Missed missed;
  for (const std::string& entry : std::vector<std::string>(absl::StrSplit(path, ':'))) {
    const std::string folder = entry.empty() ? workdir : entry;
    const std::string file = Below(folder, command);
    const FileFacts facts = look(file);
    if (facts.kind == FileKind::kExecutable) return checked(file, facts);
    if (facts.kind == FileKind::kHidden && missed.hidden.empty()) missed.hidden = folder;
    const std::string python3 = Below(folder, "python3");
    if (missed.python3.empty() && look(python3).kind == FileKind::kExecutable) {
      missed.python3 = python3;
    }
    if (facts.kind == FileKind::kNotExecutable && !nearly) {
      nearly = NotExecutable(node, account, file, facts.kind);
    }
  }
  if (nearly) return *nearly;
  const FileKind here = look(Below(workdir, command)).kind;
  missed.here = here == FileKind::kExecutable || here == FileKind::kNotExecutable;
  return NotFound(node, command, absl::StrCat("was not found in PATH (", Shortened(path), ")"),
                  NotInPathRemedy(account, command, missed));
}

absl::Status CheckExecSize(const std::string& node, const std::vector<std::string>& argv,
                           const std::vector<std::string>& env, size_t limit) {
  size_t all = 0;
  for (const auto* list : {&argv, &env}) {
    for (const std::string& text : *list) {
      // The kernel also counts the NUL and the pointer.
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
