// Feeds arbitrary bytes as manifests. They must be parsed or refused, and what was parsed must be
// encoded to the same again.
#include <cstdint>
#include <cstdlib>

#include "train/checkpoint/checkpoint_manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::train;  // NOLINT
  std::string text;
  try {
    text = EncodeManifest(ParseManifest({reinterpret_cast<const char*>(data), size}));
  } catch (const CheckpointError&) {
    return 0;
  }
  if (EncodeManifest(ParseManifest(text)) != text) abort();
  return 0;
}
