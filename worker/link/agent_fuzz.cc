// A day of a worker. Messages of a coordinator with any content, and events on its PC in any order,
// go through the reader of the wire to the agent. Whatever is said, no device is given twice,
// nothing starts that is over, the owner gets the PC, and every hello tells what is there.
//
// The input is a sequence of frames (tests/fuzz/frames.h). Acts lists what they do.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/fuzz/frames.h"
#include "worker/link/testing/bare_worker.h"

namespace hpc::worker {
namespace {

using hpc::testing::Frame;
using hpc::testing::FrameKinds;
using hpc::testing::SplitFrames;
using Act = std::function<void(BareWorker*, uint64_t, bool flag)>;

// At most a century, so that no clock runs backwards or to the end of absl's time.
absl::Duration Seconds(uint64_t n) {
  constexpr uint64_t kCentury = 100ULL * 366 * 24 * 3600;
  return absl::Seconds(static_cast<int64_t>(std::min(n, kCentury)));
}

// What the frames of each kind do, after the first kind, which is a message of the coordinator. The
// order must not change, since stored fuzz inputs depend on it.
const std::vector<Act>& Acts() {
  static const auto* const kActs = new std::vector<Act>{
      [](BareWorker* w, uint64_t n, bool flag) { w->Pass(flag ? Seconds(n) : Seconds(n) / 1'000); },
      [](BareWorker* w, uint64_t n, bool) { w->LoseLink(n); },
      [](BareWorker* w, uint64_t n, bool flag) { w->FinishPreparing(n, !flag); },
      [](BareWorker* w, uint64_t n, bool) { w->StartRanks(n); },
      [](BareWorker* w, uint64_t n, bool) { w->EndRank(n); },
      [](BareWorker* w, uint64_t n, bool flag) { w->Return(n, flag); },
      [](BareWorker* w, uint64_t n, bool flag) { flag ? w->StopItself(n) : w->Doom(n); },
      [](BareWorker* w, uint64_t n, bool) { w->BeWhole(n); },
      [](BareWorker* w, uint64_t n, bool) { w->Drop(n); },
      [](BareWorker* w, uint64_t n, bool flag) { flag ? w->Lend() : w->Reclaim(Seconds(n)); },
      [](BareWorker* w, uint64_t n, bool flag) { flag ? w->FailToSleep() : w->Resume(Seconds(n)); },
      [](BareWorker* w, uint64_t, bool flag) { w->Leave(flag); },
      [](BareWorker* w, uint64_t, bool flag) { w->Restart(flag); },
  };
  return *kActs;
}

void Do(const Frame& frame, BareWorker* worker) {
  const size_t kind = frame.kind(Acts().size() + 1);
  if (kind > 0) return Acts()[kind - 1](worker, frame.number(), frame.flag());
  v1::CoordinatorMessage message;
  if (message.ParseFromString(frame.bytes)) worker->Hear(message);
}

const FrameKinds& Kinds() {
  static const FrameKinds kKinds = [] {
    FrameKinds kinds(Acts().size() + 1, nullptr);
    kinds[0] = &v1::CoordinatorMessage::default_instance();
    return kinds;
  }();
  return kKinds;
}

}  // namespace
}  // namespace hpc::worker

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace hpc::worker;  // NOLINT: so that the calls read as elsewhere
  return hpc::testing::MutateFrames(Kinds(), data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::worker;  // NOLINT: so that the calls read as elsewhere
  static const google::protobuf::LogSilencer silence;  // about text that is not UTF-8
  BareWorker worker;
  for (const Frame& frame : SplitFrames(data, size)) Do(frame, &worker);
  return 0;
}
