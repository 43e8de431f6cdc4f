#include "tests/testing/fake_nvml/fake_nvml_state.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace hpc::testing {
namespace {

// Words only are read from streams: how a stream reads a number depends on the locale's facets,
// which this library's own copy of libstdc++ does not share with the program that loads it.
std::string Word(std::istream& line) {
  std::string word;
  line >> word;
  return word;
}
int Number(std::istream& line) { return std::stoi(Word(line)); }

nvmlProcessInfo_t ParseProcess(std::istream& line) {
  nvmlProcessInfo_t process = {};
  process.pid = static_cast<unsigned>(Number(line));
  const std::string memory = Word(line);
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
    const std::string what = Word(line);
    gpu->errors[what] = Number(line);
  } else if (key == "hang") {
    gpu->hangs.insert(Word(line));
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
    const std::string key = Word(line);
    if (key == "driver") {
      state.driver = Word(line);
    } else if (key == "init_error") {
      state.init_error = Number(line);
    } else if (key == "device") {
      state.gpus.emplace_back();
    } else if (!key.empty() && !state.gpus.empty()) {
      ParseDeviceLine(key, line, &state.gpus.back());
    }
  }
  return state;
}

}  // namespace hpc::testing
