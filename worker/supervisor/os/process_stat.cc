#include "worker/supervisor/os/process_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "worker/supervisor/os/small_file.h"

namespace hpc::worker {
namespace {

std::string Status(int64_t pid) {
  return ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/status").value_or("");
}

// "" if there is no such line.
std::string FieldOf(const std::string& status, const std::string& field) {
  const size_t at = status.find("\n" + field + ":");
  if (at == std::string::npos) return "";
  const size_t value = at + field.size() + 2;
  return status.substr(value, status.find('\n', value) - value);
}

// Whether the signal is one of those that `mask` names.
bool HasSignal(const std::string& status, const char* mask, int signal) {
  const uint64_t signals = std::strtoull(FieldOf(status, mask).c_str(), nullptr, 16);
  return (signals >> (signal - 1) & 1) != 0;
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(const std::string& text) {
  // "4711 (any) thing) S ppid pgrp session ...". Field 22 is the start time in ticks. The name ends
  // at the last parenthesis.
  const size_t name = text.find(" (");
  const size_t name_end = text.rfind(") ");
  if (name == std::string::npos || name_end == std::string::npos || name_end < name + 2 ||
      name_end + 2 >= text.size()) {
    return std::nullopt;
  }
  const std::vector<int64_t> before = Numbers(text.substr(0, name));
  std::vector<int64_t> behind = Numbers(text.substr(name_end + 3));
  if (before.size() != 1) return std::nullopt;
  behind.resize(19);
  return ProcessStat{.pid = before[0],
                     .name = text.substr(name + 2, name_end - name - 2),
                     .state = text[name_end + 2],
                     .parent = behind[0],
                     .group = behind[1],
                     .session = behind[2],
                     .started_ns = behind[18] * (1'000'000'000 / sysconf(_SC_CLK_TCK))};
}

std::optional<ProcessStat> ReadProcessStat(int64_t pid) {
  return ParseProcessStat(
      ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/stat").value_or(""));
}

std::optional<uid_t> RealUid(int64_t pid) {
  const std::vector<int64_t> uids = Numbers(FieldOf(Status(pid), "Uid"));
  if (uids.empty()) return std::nullopt;
  return static_cast<uid_t>(uids[0]);
}

bool AnswersSignal(int64_t pid, int signal) {
  const std::string status = Status(pid);
  return HasSignal(status, "SigCgt", signal) || HasSignal(status, "SigBlk", signal) ||
         HasSignal(status, "SigIgn", signal);
}

bool IgnoresSignal(int64_t pid, int signal) { return HasSignal(Status(pid), "SigIgn", signal); }

}  // namespace hpc::worker
