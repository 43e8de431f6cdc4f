// Reading what Linux says about a machine in text files. Pure.
#ifndef HPC_WORKER_OS_HOST_TEXT_H_
#define HPC_WORKER_OS_HOST_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::worker {

// MemTotal of /proc/meminfo, in bytes; 0 if it is not there.
int64_t ParseMemTotal(absl::string_view meminfo);

// PRETTY_NAME of /etc/os-release without its quotes, else NAME, else "Linux".
std::string ParseOsName(absl::string_view os_release);

// The first "model name" of /proc/cpuinfo; "" where the kernel names none (arm64).
std::string ParseCpuModel(absl::string_view cpuinfo);

struct Mount {
  std::string source;  // "/dev/sda1", "tmpfs"
  std::string point;
  std::string type;  // "ext4"
  bool operator==(const Mount&) const = default;
};

// Lines of /proc/self/mounts, in order. Octal escapes ("\040") are undone.
std::vector<Mount> ParseMounts(absl::string_view mounts);

// The mounts whose size says something about the machine's disks: one for each local block device
// (the one mounted nearest to the root, so bind mounts do not count twice), sorted by mount point.
// Network file systems are left out since asking a dead server for its size can block for ever.
// The mount that `state_dir` (absolute, without links) is on is there in any case.
std::vector<Mount> SelectDisks(const std::vector<Mount>& mounts, absl::string_view state_dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_HOST_TEXT_H_
