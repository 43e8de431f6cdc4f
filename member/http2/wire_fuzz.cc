// libFuzzer: feeds what a peer may send on a connection to the coordinator, from the first byte on.
// The first byte of an input is the size of the pieces in which the other bytes arrive; 0: all at
// once.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/text.h"
#include "member/http2/answer.h"
#include "member/http2/http2.h"
#include "member/http2/outgoing.h"

namespace hpc::wire {
namespace {

void Check(bool holds) {
  if (!holds) abort();
}

void Send(Http2* http2) {
  while (!http2->Output().empty()) continue;
}

// Makes two calls, one after the other, on a connection whose other end sends `bytes`. Returns the
// messages of both.
std::vector<std::string> Call(absl::string_view bytes, size_t piece, bool is_tls) {
  std::vector<std::string> messages;
  Http2 http2(is_tls);
  for (int call = 0; call < 2 && http2.open(); ++call) {
    OneMessage outgoing("a request");
    Answer answer;
    if (!http2.Begin("/hpc.v1.Trust/Join", &outgoing, &answer).ok()) break;
    Send(&http2);
    bool alive = true;
    while (alive && !http2.answered() && !bytes.empty()) {
      const absl::string_view next = bytes.substr(0, piece);
      bytes.remove_prefix(next.size());
      alive = http2.Receive(next).ok();
      alive = answer
                  .TakeMessages(1 << 20,
                                [&](absl::string_view message) {
                                  messages.emplace_back(message);
                                  return absl::OkStatus();
                                })
                  .ok() &&
              alive;
      Send(&http2);
      alive = http2.Check().ok() && alive;
    }
    const absl::Status end = answer.status();
    Check(!end.ok() || answer.left() == 0);  // a call with half a message must not succeed
    Check(ToValidUtf8(end.message()) == std::string(end.message()));
    http2.End();
    Send(&http2);
    if (!alive) break;
  }
  Check(messages.empty() || http2.spoken());
  return messages;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = data[0] == 0 ? std::max<size_t>(size, 1) : data[0];
  const auto in_pieces = Call(bytes, piece, /*is_tls=*/false);
  size_t told = 0;
  for (const std::string& message : in_pieces) told += 5 + message.size();
  Check(told <= bytes.size());
  Check(Call(bytes, piece, /*is_tls=*/true) == in_pieces);
  return 0;
}

}  // namespace hpc::wire
