#include "worker/os/python/python_interpreter.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files/files.h"

namespace hpc::worker {
namespace {

constexpr size_t kHeadBytes = 4096;

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

std::string RealPath(const std::string& path) {
  std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), &free);
  return real ? std::string(real.get()) : path;
}

bool IsPython(const std::string& path) {
  const std::string real = RealPath(path);
  if (absl::StartsWith(BaseName(real), "pypy")) return false;
  return IsPythonName(BaseName(path)) || IsPythonName(BaseName(real));
}

// The command in the words of "/usr/bin/env [-S] [-u] [K=V] command ...".
std::string CommandOfEnv(const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i].front() != '-' && !absl::StrContains(words[i], '=')) return words[i];
  }
  return "";
}

// Finds the interpreter in the second line of this form:
//   #!/bin/sh
//   '''exec' "/a very long path/bin/python" "$0" "$@"
std::string ExecedByShell(absl::string_view second_line) {
  if (!absl::ConsumePrefix(&second_line, "'''exec' ")) return "";
  const char end = absl::ConsumePrefix(&second_line, "\"") ? '"' : ' ';
  return std::string(second_line.substr(0, second_line.find(end)));
}

std::string FindOnPath(const std::string& name, const std::vector<std::string>& env) {
  for (absl::string_view entry : env) {
    if (!absl::ConsumePrefix(&entry, "PATH=")) continue;
    for (absl::string_view dir : absl::StrSplit(entry, ':')) {
      std::string path = absl::StrCat(dir, "/", name);
      if (access(path.c_str(), X_OK) == 0) return path;
    }
    break;
  }
  return "";
}

}  // namespace

bool IsPythonName(absl::string_view file_name) {
  if (!absl::ConsumePrefix(&file_name, "python")) return false;
  while (!file_name.empty() && (absl::ascii_isdigit(file_name.front()) || file_name[0] == '.')) {
    file_name.remove_prefix(1);
  }
  return file_name.empty() || file_name == "t" || file_name == "d" || file_name == "td";
}

std::string ShebangInterpreter(absl::string_view head) {
  if (!absl::ConsumePrefix(&head, "#!")) return "";
  std::vector<absl::string_view> lines = absl::StrSplit(head, absl::MaxSplits('\n', 2));
  std::vector<std::string> words =
      absl::StrSplit(lines[0], absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.empty()) return "";
  const absl::string_view name = BaseName(words[0]);
  if (name == "env") return CommandOfEnv(words);
  if (name == "sh" && lines.size() > 1) {
    std::string execed = ExecedByShell(lines[1]);
    if (!execed.empty()) return execed;
  }
  return words[0];
}

std::string FindPythonInterpreter(const std::string& program, const std::vector<std::string>& env) {
  if (IsPython(program)) return program;
  absl::StatusOr<std::string> head = ReadFile(program, kHeadBytes);
  if (!head.ok()) return "";
  std::string interpreter = ShebangInterpreter(*head);
  if (!interpreter.empty() && !absl::StrContains(interpreter, '/')) {
    interpreter = FindOnPath(interpreter, env);
  }
  return !interpreter.empty() && IsPython(interpreter) ? interpreter : "";
}

}  // namespace hpc::worker
