// libFuzzer: the first bytes of a stranger's connection.
#include <cstdint>
#include <cstdlib>

#include "coordinator/rpc/doors/client_hello.h"

namespace hpc::coordinator {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Opening whole = ClassifyOpening(bytes);
  // What was told about the first bytes stays true, whatever follows them.
  for (size_t i = 0; i < size && i < 64; ++i) {
    const Opening early = ClassifyOpening(bytes.substr(0, i));
    if (early != Opening::kIncomplete && early != whole) abort();
  }
  if (size >= kMaxOpening && whole == Opening::kIncomplete) abort();
  return 0;
}

}  // namespace hpc::coordinator
