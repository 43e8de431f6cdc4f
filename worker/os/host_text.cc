#include "worker/os/host_text.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hpc::worker {
namespace {

constexpr absl::string_view kDiskTypes[] = {
    "ext2", "ext3",  "ext4",  "xfs",     "btrfs", "zfs", "f2fs",    "jfs",
    "vfat", "exfat", "ntfs3", "fuseblk", "ntfs",  "hfs", "hfsplus", "bcachefs"};

bool IsDisk(const Mount& mount) {
  return std::find(std::begin(kDiskTypes), std::end(kDiskTypes), mount.type) !=
         std::end(kDiskTypes);
}

std::optional<std::string> OsReleaseValue(absl::string_view os_release, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(os_release, '\n')) {
    if (!absl::ConsumePrefix(&line, key) || !absl::ConsumePrefix(&line, "=")) continue;
    line = absl::StripAsciiWhitespace(line);
    for (absl::string_view quote : {"\"", "'"}) {
      if (line.size() >= 2 && absl::ConsumePrefix(&line, quote)) absl::ConsumeSuffix(&line, quote);
    }
    if (!line.empty()) return std::string(line);
  }
  return std::nullopt;
}

bool IsOctal(absl::string_view digits) {
  return digits.size() == 3 &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '7'; });
}

std::string UnescapeOctal(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    absl::string_view digits = text.substr(i + 1 <= text.size() ? i + 1 : i, 3);
    if (text[i] == '\\' && IsOctal(digits)) {
      plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + digits[2] - '0');
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool Contains(absl::string_view mount_point, absl::string_view path) {
  if (mount_point == "/") return true;
  return absl::ConsumePrefix(&path, mount_point) && (path.empty() || path.front() == '/');
}

// A later mount on the same point covers an earlier one, hence >=.
const Mount* MountOf(const std::vector<Mount>& mounts, absl::string_view path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    if (!Contains(mount.point, path)) continue;
    if (best == nullptr || mount.point.size() >= best->point.size()) best = &mount;
  }
  return best;
}

}  // namespace

int64_t ParseMemTotal(absl::string_view meminfo) {
  for (absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    if (!absl::ConsumePrefix(&line, "MemTotal:")) continue;
    absl::ConsumeSuffix(&line, "kB");
    int64_t kib = 0;
    return absl::SimpleAtoi(line, &kib) ? kib * 1024 : 0;
  }
  return 0;
}

std::string ParseOsName(absl::string_view os_release) {
  if (auto pretty = OsReleaseValue(os_release, "PRETTY_NAME")) return *pretty;
  return OsReleaseValue(os_release, "NAME").value_or("Linux");
}

std::string ParseCpuModel(absl::string_view cpuinfo) {
  for (absl::string_view line : absl::StrSplit(cpuinfo, '\n')) {
    if (!absl::ConsumePrefix(&line, "model name")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    absl::ConsumePrefix(&line, ":");
    return std::string(absl::StripAsciiWhitespace(line));
  }
  return "";
}

std::vector<Mount> ParseMounts(absl::string_view mounts) {
  std::vector<Mount> result;
  for (absl::string_view line : absl::StrSplit(mounts, '\n')) {
    std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    if (fields.size() < 3) continue;
    result.push_back({UnescapeOctal(fields[0]), UnescapeOctal(fields[1]), std::string(fields[2])});
  }
  return result;
}

std::vector<Mount> SelectDisks(const std::vector<Mount>& mounts, absl::string_view state_dir) {
  std::map<std::string, Mount> by_source;
  for (const Mount& mount : mounts) {
    if (!IsDisk(mount)) continue;
    auto [it, is_new] = by_source.try_emplace(mount.source, mount);
    if (!is_new && mount.point.size() < it->second.point.size()) it->second = mount;
  }
  std::vector<Mount> disks;
  for (const auto& [source, mount] : by_source) disks.push_back(mount);
  const Mount* home = MountOf(mounts, state_dir);
  if (home != nullptr && !IsDisk(*home)) disks.push_back(*home);
  std::sort(disks.begin(), disks.end(),
            [](const Mount& a, const Mount& b) { return a.point < b.point; });
  return disks;
}

}  // namespace hpc::worker
