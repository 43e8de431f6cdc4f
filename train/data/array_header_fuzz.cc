// Any bytes must give an array or a DataError.
#include <cstdint>

#include "train/data/array_header.h"
#include "train/data/data_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view file(reinterpret_cast<const char*>(data), size);
  for (auto* parse : {&hpc::train::ParseNpy, &hpc::train::ParseIdx}) {
    try {
      const hpc::train::ArrayHeader header = parse("file", file);
      if (header.offset + BytesOf(header) != size) __builtin_trap();
    } catch (const hpc::train::DataError&) {
    }
  }
  return 0;
}
