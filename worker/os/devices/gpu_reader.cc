#include "worker/os/devices/gpu_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files/files.h"
#include "common/process/log.h"

namespace hpc::worker {
namespace {

// The kernel's short name for a process; "" if it has ended or belongs to another PID namespace.
std::string CommandOf(const std::string& root, int64_t pid) {
  absl::StatusOr<std::string> text = ReadFile(absl::StrCat(root, "/proc/", pid, "/comm"));
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// A process that both computes and draws is in both lists. It is counted once, as one that draws.
void AddProcesses(const std::vector<nvmlProcessInfo_t>& found, bool graphics,
                  const std::string& root, std::vector<DeviceProcess>* processes) {
  for (const nvmlProcessInfo_t& info : found) {
    const int64_t memory = info.usedGpuMemory == kNvmlMemoryNotAvailable
                               ? 0
                               : static_cast<int64_t>(info.usedGpuMemory);
    auto known = std::find_if(processes->begin(), processes->end(),
                              [&info](const DeviceProcess& p) { return p.pid == info.pid; });
    if (known == processes->end()) {
      processes->push_back({.pid = info.pid,
                            .graphics = graphics,
                            .memory_bytes = memory,
                            .command = CommandOf(root, info.pid)});
    } else {
      known->graphics = known->graphics || graphics;
      known->memory_bytes = std::max(known->memory_bytes, memory);
    }
  }
}

}  // namespace

GpuReader::GpuReader(std::shared_ptr<const NvmlApi> api, nvmlDevice_t handle,
                     protocol::Device device, std::string root)
    : api_(std::move(api)), handle_(handle), device_(std::move(device)), root_(std::move(root)) {}

void GpuReader::Start() {
  auto reading = std::make_shared<Reading>();
  auto work = [reading, api = api_, handle = handle_, index = device_.index, root = root_] {
    *reading = Read(*api, handle, index, root);
  };
  if (!thread_.Start(std::move(work))) return;
  reading_ = std::move(reading);
  hangs_ = false;
}

DeviceUsage GpuReader::Finish(std::chrono::steady_clock::time_point deadline) {
  // A reading that hung last time is not waited for again, or each call would take the whole limit.
  if (hangs_) deadline = std::chrono::steady_clock::now();
  hangs_ = !thread_.WaitUntil(deadline);
  if (hangs_) {
    Report("the driver does not answer");
    return {.index = device_.index};
  }
  Report(reading_->error);
  return reading_->usage;
}

GpuReader::Reading GpuReader::Read(const NvmlApi& api, nvmlDevice_t handle, int32_t index,
                                   const std::string& root) {
  Reading reading;
  reading.usage.index = index;
  auto note = [&reading](const absl::Status& status) {
    if (status.ok() || absl::IsUnimplemented(status) || !reading.error.empty()) return;
    reading.error = std::string(status.message());
  };
  auto memory = api.Memory(handle);
  note(memory.status());
  if (memory.ok()) reading.usage.memory_used_bytes = static_cast<int64_t>(memory->used);
  auto utilization = api.Utilization(handle);
  note(utilization.status());
  if (utilization.ok()) reading.usage.utilisation_percent = static_cast<int32_t>(utilization->gpu);
  for (bool graphics : {false, true}) {
    auto found = graphics ? api.GraphicsProcesses(handle) : api.ComputeProcesses(handle);
    note(found.status());
    if (found.ok()) AddProcesses(*found, graphics, root, &reading.usage.processes);
  }
  return reading;
}

void GpuReader::Report(const std::string& error) {
  if (error == reported_) return;
  reported_ = error;
  const std::vector<LogField> which = {{"gpu", device_.index}, {"uuid", device_.uuid}};
  if (error.empty()) {
    LogInfo("GPU can be read again", which);
  } else {
    LogWarning("GPU cannot be read in full", {which[0], which[1], {"error", error}});
  }
}

}  // namespace hpc::worker
