#include "worker/supervisor/attempt_record.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "worker/supervisor/foreign_file.h"
#include "worker/supervisor/quick_file.h"

namespace hpc::worker {
namespace {

constexpr size_t kMostBytes = 1 << 20;

absl::StatusOr<std::string> Line(const std::string& kind, const std::string& value) {
  if (absl::StrContains(value, '\n')) {
    return absl::InvalidArgumentError(absl::StrCat(kind, " '", value, "' is more than one line"));
  }
  return absl::StrCat(kind, " ", value, "\n");
}

}  // namespace

std::string AttemptRecordPath(const std::string& attempt_folder) {
  return attempt_folder + "/record";
}

absl::Status BeginRecord(const std::string& attempt_folder, const std::string& kind,
                         const std::string& value) {
  HPC_ASSIGN_OR_RETURN(const std::string line, Line(kind, value));
  return WriteQuickly(AttemptRecordPath(attempt_folder), line);
}

absl::Status AddToRecord(const std::string& attempt_folder, const std::string& kind,
                         const std::string& value) {
  HPC_ASSIGN_OR_RETURN(const std::string line, Line(kind, value));
  return AppendQuickly(AttemptRecordPath(attempt_folder), line);
}

absl::StatusOr<std::string> ReadRecord(const std::string& attempt_folder, const std::string& kind) {
  const std::string path = AttemptRecordPath(attempt_folder);
  HPC_ASSIGN_OR_RETURN(const std::string text, ReadForeignFile(path, kMostBytes));
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const std::string begin = kind + " ";
  // Behind the last line end.
  if (absl::StartsWith(lines.back(), begin)) {
    return absl::DataLossError(absl::StrCat(path, ": the line '", kind, "' is torn"));
  }
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (absl::StartsWith(*line, begin)) return std::string(line->substr(begin.size()));
  }
  return absl::NotFoundError(absl::StrCat(path, " has no line '", kind, "'"));
}

}  // namespace hpc::worker
