// libFuzzer target: no bytes may crash the parser, and what it accepts is sound.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "worker/core/metric_line.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = hpc::worker::ParseMetricLine(text);
  if (line.ok()) {
    for (const auto& [key, value] : line->values) {
      if (key.empty() || key == "step" || key == "time") abort();
    }
  }
  return 0;
}
