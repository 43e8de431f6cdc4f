// Feeds arbitrary bytes as files. They must be parsed or refused. What was parsed must lie in the
// file, and be encoded to the same again.
#include <cstdint>
#include <cstdlib>

#include "train/checkpoint/safetensors.h"

namespace {

void Check(bool holds) {
  if (!holds) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::train;  // NOLINT
  SafetensorsHeader header;
  try {
    header = ParseSafetensorsHeader({reinterpret_cast<const char*>(data), size}, size);
  } catch (const SafetensorsError&) {
    return 0;
  }
  uint64_t end = header.tensors.empty() ? size : header.tensors.front().begin;
  for (const SafetensorsTensor& one : header.tensors) {
    Check(one.begin == end && one.end >= one.begin);
    end = one.end;
  }
  Check(end == size);
  SafetensorsHeader again = header;
  std::string file = EncodeSafetensorsHeader(&again);
  if (!again.tensors.empty()) file.resize(again.tensors.back().end);
  const SafetensorsHeader same = ParseSafetensorsHeader(file, file.size());
  Check(same.tensors.size() == header.tensors.size() && same.metadata == header.metadata);
  for (const SafetensorsTensor& one : header.tensors) {
    bool found = false;
    for (const SafetensorsTensor& other : same.tensors) {
      found = found || (other.name == one.name && other.shape == one.shape);
    }
    Check(found);
  }
  return 0;
}
