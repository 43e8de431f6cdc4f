// libFuzzer: gRPC may name a connection in any way. Only the name of a connection that is open now
// finds somebody, and that is who opened it.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/rpc/doors/peer_book.h"

namespace hpc::coordinator {
namespace {

void Check(bool holds) {
  if (!holds) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static PeerBook book;
  std::array<int, 2> ends{};
  Check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const UniqueFd ours(ends[0]);
  const absl::StatusOr<UniqueFd> kept = book.Enter(UniqueFd(ends[1]));
  Check(kept.ok());
  const std::string open = absl::StrCat("fd:", kept->get());
  const auto opener = book.Find(open);
  Check(opener.has_value() && opener->uid == getuid());
  const std::string name(reinterpret_cast<const char*>(data), size);
  const auto found = book.Find(name);
  if (found.has_value()) Check(found->uid == getuid() && name.rfind("fd:", 0) == 0);
  return 0;
}

}  // namespace hpc::coordinator
