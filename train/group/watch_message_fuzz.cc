// Feeds lines from the network. They must be decoded or refused, and what was decoded must be
// encoded to the same again.
#include <cstdint>
#include <cstdlib>

#include "train/group/watch_message.h"

namespace {

void Check(bool holds) {
  if (!holds) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::train;  // NOLINT
  const absl::string_view line(reinterpret_cast<const char*>(data), size);
  if (std::optional<WatchRequest> request = DecodeRequest(line)) {
    const std::string again = EncodeRequest(*request);
    Check(again.size() <= kMaxWatchLine + request->secret.size());
    std::optional<WatchRequest> same = DecodeRequest(again.substr(0, again.size() - 1));
    Check(same && EncodeRequest(*same) == again);
  }
  if (std::optional<RankStatus> status = DecodeStatus(line)) {
    const std::string again = EncodeStatus(*status);
    Check(again.size() <= kMaxWatchLine);
    std::optional<RankStatus> same = DecodeStatus(again.substr(0, again.size() - 1));
    Check(same && EncodeStatus(*same) == again);
  }
  return 0;
}
