// Structured logs of the daemons: one line per call on stderr, in logfmt.
//
//   LogInfo("node connected", {{"node", name}, {"address", address}});
//   2026-11-21T07:40:30.123Z INFO node connected node=pc1 address=10.0.0.11
//
// Under systemd (JOURNAL_STREAM is set) time and level are replaced by the journal's "<6>" prefix.
// A line is written with a single write, so lines of several threads never mix.
#ifndef HPC_COMMON_PROCESS_LOG_H_
#define HPC_COMMON_PROCESS_LOG_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace hpc {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// A key and its value. A value with spaces or quotes is quoted; line ends are escaped.
struct LogField {
  LogField(absl::string_view k, const absl::AlphaNum& v) : key(k), value(v.Piece()) {}
  std::string key;
  std::string value;
};

void Log(LogLevel level, absl::string_view message, const std::vector<LogField>& fields = {});

inline void LogDebug(absl::string_view m, const std::vector<LogField>& f = {}) {
  Log(LogLevel::kDebug, m, f);
}
inline void LogInfo(absl::string_view m, const std::vector<LogField>& f = {}) {
  Log(LogLevel::kInfo, m, f);
}
inline void LogWarning(absl::string_view m, const std::vector<LogField>& f = {}) {
  Log(LogLevel::kWarning, m, f);
}
inline void LogError(absl::string_view m, const std::vector<LogField>& f = {}) {
  Log(LogLevel::kError, m, f);
}

// Lines below this level are dropped. The default is kInfo.
void SetLogLevel(LogLevel level);
// Understands "debug", "info", "warning" and "error"; returns false for anything else.
bool ParseLogLevel(absl::string_view text, LogLevel* level);

// Returns the line that Log would write, without its prefix. For tests.
std::string FormatLogLine(absl::string_view message, const std::vector<LogField>& fields);

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_LOG_H_
