#include "worker/supervisor_client/attempt_record.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "worker/supervisor_client/foreign_file.h"
#include "worker/supervisor_client/quick_file.h"

namespace hpc::worker {
namespace {

constexpr size_t kMostBytes = 1 << 20;

// Where the part of this attempt begins.
size_t Begin(const std::string& text) {
  const size_t line = text.rfind(absl::StrCat("\n", kAttemptLine, " "));
  return line == std::string::npos ? 0 : line + 1;
}

absl::Status Append(const std::string& attempt_folder, const std::vector<RecordLine>& lines) {
  std::string text;
  for (const RecordLine& line : lines) {
    if (absl::StrContains(line.value, '\n')) {
      return absl::InvalidArgumentError(
          absl::StrCat(line.kind, " '", line.value, "' is more than one line"));
    }
    absl::StrAppend(&text, line.kind, " ", line.value, "\n");
  }
  return AppendQuickly(AttemptRecordPath(attempt_folder), text);
}

}  // namespace

std::string AttemptRecordPath(const std::string& attempt_folder) {
  return absl::StrCat(attempt_folder, "/", kRecordName);
}

absl::Status BeginRecord(const std::string& attempt_folder, const std::string& value,
                         const std::vector<RecordLine>& others) {
  std::vector<RecordLine> lines = {{kAttemptLine, value}};
  lines.insert(lines.end(), others.begin(), others.end());
  return Append(attempt_folder, lines);
}

absl::Status AddToRecord(const std::string& attempt_folder, const RecordLine& line) {
  return Append(attempt_folder, {line});
}

absl::StatusOr<std::string> ReadRecord(const std::string& attempt_folder, const std::string& kind) {
  const std::string path = AttemptRecordPath(attempt_folder);
  HPC_ASSIGN_OR_RETURN(const std::string text, ReadForeignFile(path, kMostBytes));
  const std::vector<absl::string_view> lines =
      absl::StrSplit(absl::string_view(text).substr(Begin(text)), '\n');
  const std::string begin = kind + " ";
  // The text behind the last line end is a torn line.
  if (absl::StartsWith(lines.back(), begin)) {
    return absl::DataLossError(absl::StrCat(path, ": the line '", kind, "' is torn"));
  }
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (absl::StartsWith(*line, begin)) return std::string(line->substr(begin.size()));
  }
  return absl::NotFoundError(absl::StrCat(path, " has no line '", kind, "'"));
}

}  // namespace hpc::worker
