#include "tests/testing/fake_nvml/fake_nvml_state.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace hpc::testing {
namespace {

nvmlProcessInfo_t ParseProcess(std::istream& line) {
  nvmlProcessInfo_t process = {};
  std::string memory;
  line >> process.pid >> memory;
  process.usedGpuMemory = memory == "-" ? worker::kNvmlMemoryNotAvailable : std::stoull(memory);
  process.gpuInstanceId = process.computeInstanceId = ~0U;
  return process;
}

void ParseDeviceLine(const std::string& key, std::istream& line, FakeGpu* gpu) {
  if (key == "compute") {
    gpu->compute.push_back(ParseProcess(line));
  } else if (key == "graphics") {
    gpu->graphics.push_back(ParseProcess(line));
  } else if (key == "error") {
    std::string what;
    line >> what;
    line >> gpu->errors[what];
  } else if (key == "hang") {
    std::string what;
    line >> what;
    gpu->hangs.insert(what);
  } else {
    line >> std::ws;
    std::getline(line, gpu->values[key]);
  }
}

}  // namespace

std::optional<FakeNvmlState> ReadFakeNvmlState() {
  const char* path = getenv("FAKE_NVML_STATE");
  std::ifstream file(path != nullptr ? path : "");
  if (!file) return std::nullopt;
  FakeNvmlState state;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string key;
    line >> key;
    if (key == "driver") {
      line >> state.driver;
    } else if (key == "init_error") {
      line >> state.init_error;
    } else if (key == "device") {
      state.gpus.emplace_back();
    } else if (!key.empty() && !state.gpus.empty()) {
      ParseDeviceLine(key, line, &state.gpus.back());
    }
  }
  return state;
}

}  // namespace hpc::testing
