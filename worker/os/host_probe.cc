#include "worker/os/host_probe.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files/files.h"
#include "worker/os/host_text.h"
#include "worker/os/interface_watch.h"
#include "worker/os/network.h"

namespace hpc::worker {
namespace {

// The cores that this process may use. A container or taskset may leave it fewer than the machine
// has.
int32_t UsableCores() {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    const size_t size = CPU_ALLOC_SIZE(cpus);
    const int result = sched_getaffinity(0, size, set);
    const int count = result == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (result == 0) return count;
  }
  return static_cast<int32_t>(sysconf(_SC_NPROCESSORS_ONLN));
}

// `path` without symbolic links, so that it can be compared with mount points.
std::string RealPath(const std::string& path) {
  std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), &free);
  return real ? std::string(real.get()) : path;
}

absl::Duration ReadClock(clockid_t clock) {
  timespec ts = {};
  clock_gettime(clock, &ts);
  return absl::DurationFromTimespec(ts);
}

class LinuxHostProbe : public HostProbe {
 public:
  explicit LinuxHostProbe(HostProbeOptions options) : options_(std::move(options)) {}

  protocol::Inventory Read() override {
    protocol::Inventory info;
    info.cores = UsableCores();
    info.memory_bytes = ParseMemTotal(Text("/proc/meminfo"));
    info.disks = ReadDisks();
    info.interfaces = SelectInterfaces(ListInterfaceAddresses());
    for (protocol::NetworkInterface& interface : info.interfaces) {
      interface.speed_mbps = ReadInterfaceSpeed(options_.root, interface.name);
      interface.wake_on_lan = ReadWakeOnLan(interface.name);
    }
    info.os = ParseOsName(Text("/etc/os-release"));
    utsname name = {};
    if (uname(&name) == 0) {
      info.hostname = name.nodename;
      info.kernel = absl::StrCat(name.release, " ", name.machine);
    }
    return info;
  }

  std::string BootId() override {
    return std::string(absl::StripAsciiWhitespace(Text("/proc/sys/kernel/random/boot_id")));
  }

  absl::Duration SuspendedTime() override {
    return ReadClock(CLOCK_BOOTTIME) - ReadClock(CLOCK_MONOTONIC);
  }

  absl::StatusOr<std::string> SourceAddressFor(const std::string& peer) override {
    return FindSourceAddress(peer);
  }

  absl::StatusOr<std::string> InterfaceOf(const std::string& address) override {
    return FindInterfaceOf(interfaces_.Get(), address);
  }

 private:
  std::string Text(const std::string& path) const {
    return ReadFile(options_.root + path).value_or("");
  }

  std::vector<protocol::Disk> ReadDisks() const {
    std::vector<protocol::Disk> disks;
    for (const Mount& mount :
         SelectDisks(ParseMounts(Text("/proc/self/mounts")), RealPath(options_.state_dir))) {
      struct statvfs size = {};
      if (statvfs(mount.point.c_str(), &size) != 0) continue;
      const auto block = static_cast<int64_t>(size.f_frsize);
      disks.push_back({.mount = mount.point,
                       .total_bytes = static_cast<int64_t>(size.f_blocks) * block,
                       .free_bytes = static_cast<int64_t>(size.f_bavail) * block});
    }
    return disks;
  }

  const HostProbeOptions options_;
  InterfaceWatch interfaces_;
};

}  // namespace

std::unique_ptr<HostProbe> MakeHostProbe(HostProbeOptions options) {
  return std::make_unique<LinuxHostProbe>(std::move(options));
}

std::string ProcessorName() { return ParseCpuModel(ReadFile("/proc/cpuinfo").value_or("")); }

}  // namespace hpc::worker
