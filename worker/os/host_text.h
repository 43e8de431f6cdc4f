// Reads what Linux says about a machine in text files. Pure.
#ifndef HPC_WORKER_OS_HOST_TEXT_H_
#define HPC_WORKER_OS_HOST_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::worker {

// MemTotal of /proc/meminfo, in bytes; 0 if it is not there.
int64_t ParseMemTotal(absl::string_view meminfo);

// PRETTY_NAME of /etc/os-release without its quotes; otherwise NAME, otherwise "Linux".
std::string ParseOsName(absl::string_view os_release);

// The first "model name" of /proc/cpuinfo; "" if the kernel tells none (arm64).
std::string ParseCpuModel(absl::string_view cpuinfo);

struct Mount {
  std::string source;  // "/dev/sda1", "tmpfs"
  std::string point;
  std::string type;  // "ext4"
  bool operator==(const Mount&) const = default;
};

// The lines of /proc/self/mounts, in order. Octal escapes ("\040") are decoded.
std::vector<Mount> ParseMounts(absl::string_view mounts);

// Selects the mounts whose size says something about the machine's disks, sorted by mount point.
// There is one for each local block device: the one mounted nearest to the root, so bind mounts do
// not count twice. Network file systems are left out, since asking a dead server for its size can
// block for ever. The mount that holds `state_dir` (absolute, without links) is always included.
std::vector<Mount> SelectDisks(const std::vector<Mount>& mounts, absl::string_view state_dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_HOST_TEXT_H_
