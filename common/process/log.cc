#include "common/process/log.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/text.h"

namespace hpc {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};

struct LevelName {
  const char* word;     // as configured
  const char* label;    // as printed
  const char* journal;  // the syslog priority
};
constexpr LevelName kLevels[] = {{"debug", "DEBUG", "<7>"},
                                 {"info", "INFO", "<6>"},
                                 {"warning", "WARNING", "<4>"},
                                 {"error", "ERROR", "<3>"}};

bool NeedsQuotes(absl::string_view value) {
  return value.empty() || value.find_first_of(" \"=\\\n\r\t") != absl::string_view::npos;
}

std::string Escaped(absl::string_view text) { return absl::Utf8SafeCEscape(ToValidUtf8(text)); }

std::string Prefix(LogLevel level) {
  const LevelName& name = kLevels[static_cast<int>(level)];
  static const bool under_systemd = getenv("JOURNAL_STREAM") != nullptr;
  if (under_systemd) return name.journal;
  return absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()),
                      " ", name.label, " ");
}

}  // namespace

std::string FormatLogLine(absl::string_view message, const std::vector<LogField>& fields) {
  std::string line = absl::StrContains(message, '\n') ? Escaped(message) : std::string(message);
  for (const LogField& field : fields) {
    if (NeedsQuotes(field.value)) {
      absl::StrAppend(&line, " ", field.key, "=\"", Escaped(field.value), "\"");
    } else {
      absl::StrAppend(&line, " ", field.key, "=", field.value);
    }
  }
  return line;
}

void Log(LogLevel level, absl::string_view message, const std::vector<LogField>& fields) {
  if (level < g_level.load(std::memory_order_relaxed)) return;
  const std::string line = absl::StrCat(Prefix(level), FormatLogLine(message, fields), "\n");
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nowhere left to complain to
    done += static_cast<size_t>(n);
  }
}

void SetLogLevel(LogLevel level) { g_level = level; }

bool ParseLogLevel(absl::string_view text, LogLevel* level) {
  for (int i = 0; i < 4; ++i) {
    if (text == kLevels[i].word) {
      *level = static_cast<LogLevel>(i);
      return true;
    }
  }
  return false;
}

}  // namespace hpc
