// Takes an input of a fuzzer as a sequence of frames. Each frame is a message or a number, so that
// the mutator can change a message field by field, and can move, double or drop whole frames.
//
// The layout of a frame is: what it is (one byte), the length of its bytes (two bytes, little
// endian), its bytes.
#ifndef HPC_TESTS_FUZZ_FRAMES_H_
#define HPC_TESTS_FUZZ_FRAMES_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hpc::testing {

inline constexpr uint8_t kFrameFlag = 0x80;  // a bit of `what`; the target gives it a meaning

struct Frame {
  uint8_t what = 0;
  std::string bytes;

  // Which kind the frame is, of `kinds` kinds.
  size_t kind(size_t kinds) const { return static_cast<size_t>(what & ~kFrameFlag) % kinds; }
  bool flag() const { return (what & kFrameFlag) != 0; }
  // The frame's bytes as a number, big endian.
  uint64_t number() const;
};

// Returns the first 40 frames at most.
std::vector<Frame> SplitFrames(const uint8_t* data, size_t size);

// What a frame of each kind holds. A pointer to a message: a message of that type. Null: a number.
using FrameKinds = std::vector<const google::protobuf::Message*>;

// To be called by LLVMFuzzerCustomMutator.
size_t MutateFrames(const FrameKinds& kinds, uint8_t* data, size_t size, size_t max_size,
                    unsigned int seed);

}  // namespace hpc::testing

#endif  // HPC_TESTS_FUZZ_FRAMES_H_
