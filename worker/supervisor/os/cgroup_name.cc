#include "worker/supervisor/os/cgroup_name.h"

namespace hpc::worker {
namespace {

constexpr char kBegin[] = "hpc-";
constexpr char kHex[] = "0123456789abcdef";
constexpr size_t kDigits = 8;

// FNV-1a, which is the same in every build: a supervisor outlives an upgrade.
std::string HashOf(const std::string& dir) {
  uint32_t hash = 2166136261u;
  for (const char c : dir) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  std::string text(kDigits, '0');
  for (size_t i = kDigits; i-- > 0; hash >>= 4) text[i] = kHex[hash & 15];
  return text;
}

std::string BeginOf(const std::string& attempt, const std::string& dir) {
  return kBegin + attempt + "-" + HashOf(dir) + "-";
}

}  // namespace

std::string AttemptCgroupName(const std::string& attempt, const std::string& dir,
                              const std::string& maker) {
  return BeginOf(attempt, dir) + maker;
}

std::string ScopeUnitName(const std::string& attempt, const std::string& dir,
                          int64_t supervisor_pid) {
  return AttemptCgroupName(attempt, dir, std::to_string(supervisor_pid)) + ".scope";
}

std::optional<std::string> AttemptOfCgroup(const std::string& name) {
  const size_t begin = sizeof kBegin - 1, end = name.find('-', begin);
  if (name.compare(0, begin, kBegin) != 0 || end == std::string::npos) return std::nullopt;
  const size_t behind = name.find_first_not_of(kHex, end + 1);
  if (behind != end + 1 + kDigits || name[behind] != '-') return std::nullopt;
  return name.substr(begin, end - begin);
}

bool IsCgroupOf(const std::string& name, const std::string& attempt, const std::string& dir) {
  return name.rfind(BeginOf(attempt, dir), 0) == 0;
}

}  // namespace hpc::worker
