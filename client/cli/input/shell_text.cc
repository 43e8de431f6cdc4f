#include "client/cli/input/shell_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hpc::client {
namespace {

// The word that ends the here-document which the line begins: "EOF" of "cat <<'EOF'". "": none.
std::string DocumentEnd(absl::string_view line) {
  const size_t at = line.find("<<");
  if (at == absl::string_view::npos || line.substr(at, 3) == "<<<") return "";
  absl::string_view word = line.substr(at + 2);
  word.remove_prefix(std::min(word.find_first_not_of("-~ \t'\"\\"), word.size()));
  // "$((1<<20))" begins none.
  if (word.empty() || absl::ascii_isdigit(static_cast<unsigned char>(word[0]))) return "";
  return std::string(word.substr(0, word.find_first_of(" \t'\";|&)")));
}

// Words with which a shell begins or ends a command of its own, behind which another one may begin.
bool IsKeyword(absl::string_view word) {
  constexpr std::array kWords = {"if",    "then",  "else", "elif", "fi", "do",
                                 "while", "until", "done", "!",    "{",  "}"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// Reads a line into its pipes.
class Pipes {
 public:
  void Read(absl::string_view line) {
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      const char next = i + 1 < line.size() ? line[i + 1] : '\0';
      if (quote_ != 0) {
        InQuotes(c);
      } else if (c == '#' && word_.empty() && !quoted_) {
        break;
      } else if (c == '"' || c == '\'') {
        quote_ = c;
        quoted_ = true;
      } else if (c == ' ' || c == '\t') {
        EndWord();
      } else if (c == '|' && next != '|') {
        EndCommand();
        if (next == '&') ++i;
      } else if (c == '>' || (c == '&' && next == '>')) {
        i += next == '>' || next == '&' ? 1 : 0;
        EndWordInFrontOfFile();
        redirects_ = true;
      } else if (c == ';' || c == '&' || c == '|' || c == '(' || c == ')' || c == '`') {
        EndPipe();
        if (next == c) ++i;
      } else {
        word_ += c;
      }
    }
    EndPipe();
  }

  std::vector<std::vector<std::vector<std::string>>> Take() { return std::move(pipes_); }

 private:
  void InQuotes(char c) {
    if (c == quote_) {
      quote_ = 0;
    } else {
      word_ += c;
    }
  }

  // The number in "2>errors" is none of the command's words.
  void EndWordInFrontOfFile() {
    if (std::all_of(word_.begin(), word_.end(), absl::ascii_isdigit)) word_.clear();
    EndWord();
  }

  void EndWord() {
    const std::string word = std::exchange(word_, "");
    const bool is_text = std::exchange(quoted_, false) && absl::StrContains(word, " ");
    if (word.empty() || is_text || std::exchange(redirects_, false)) return;
    if (command_.empty() && (IsKeyword(word) || IsAssignment(word))) return;
    command_.push_back(word);
  }

  void EndCommand() {
    EndWord();
    redirects_ = false;
    pipe_.push_back(std::exchange(command_, {}));
  }

  void EndPipe() {
    EndCommand();
    auto pipe = std::exchange(pipe_, {});
    if (pipe.size() > 1 || !pipe[0].empty()) pipes_.push_back(std::move(pipe));
  }

  std::vector<std::vector<std::vector<std::string>>> pipes_;
  std::vector<std::vector<std::string>> pipe_;
  std::vector<std::string> command_;
  std::string word_;
  char quote_ = 0;
  bool quoted_ = false;     // a part of the word is quoted
  bool redirects_ = false;  // the next word is a file
};

}  // namespace

bool IsAssignment(absl::string_view word) {
  const absl::string_view name = word.substr(0, word.find('='));
  if (name.size() == word.size() || name.empty() || absl::ascii_isdigit(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

std::vector<std::string> ShellLines(absl::string_view text) {
  const std::string joined = absl::StrReplaceAll(text, {{"\\\n", " "}});
  std::vector<std::string> lines;
  std::string document_end;  // of the here-document that is being passed over
  for (const absl::string_view line : absl::StrSplit(joined, '\n')) {
    const absl::string_view bare = absl::StripAsciiWhitespace(line);
    if (!document_end.empty()) {
      if (bare == document_end) document_end.clear();
      continue;
    }
    if (absl::StartsWith(bare, "#")) continue;
    lines.emplace_back(line);
    document_end = DocumentEnd(line);
  }
  return lines;
}

std::vector<std::vector<std::vector<std::string>>> ShellPipes(absl::string_view line) {
  Pipes pipes;
  pipes.Read(line);
  return pipes.Take();
}

std::vector<std::vector<std::string>> ShellCommands(absl::string_view line) {
  std::vector<std::vector<std::string>> commands;
  for (auto& pipe : ShellPipes(line)) {
    for (auto& command : pipe) {
      if (!command.empty()) commands.push_back(std::move(command));
    }
  }
  return commands;
}

}  // namespace hpc::client
