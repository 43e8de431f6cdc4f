// Gives any bytes to the decoders of the spec, of both sides of the socket, and of the journal.
// What they accept is exactly what the encoders make.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "worker/supervisor/protocol/fork_request.h"
#include "worker/supervisor/protocol/journal_line.h"
#include "worker/supervisor/protocol/order.h"
#include "worker/supervisor/protocol/spec.h"

namespace {

void Check(bool holds) {
  if (!holds) abort();
}

template <typename Decoded>
void CheckCanonical(const Decoded& decoded, const std::string& bytes) {
  if (decoded) Check(Encode(*decoded) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::worker;  // NOLINT: so that the calls read as elsewhere
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      CheckCanonical(DecodeSupervisorSpec(bytes), bytes);
      break;
    case 1:
      CheckCanonical(DecodeSupervisorCommand(bytes), bytes);
      break;
    case 2:
      CheckCanonical(DecodeSupervisorEvent(bytes), bytes);
      break;
    case 4:
      CheckCanonical(DecodeForkRequest(bytes), bytes);
      break;
    case 5:
      CheckCanonical(DecodeSupervisorOrder(bytes), bytes);
      break;
    default: {
      const auto parsed = ParseJournalLine(bytes);
      if (const auto* event = std::get_if<SupervisorEvent>(&parsed)) {
        const auto again = ParseJournalLine(JournalLine(*event));
        Check(Encode(std::get<SupervisorEvent>(again)) == Encode(*event));
      }
    }
  }
  return 0;
}
