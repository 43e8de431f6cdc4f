// An input of a fuzzer as a sequence of frames, each a message or a number, so that the mutator can
// change a message field by field, and move, double or drop whole frames.
//
// Of a frame are there: what it is (one byte), the length of its bytes (two, little endian), its
// bytes.
#ifndef HPC_TESTS_FUZZ_FRAMES_H_
#define HPC_TESTS_FUZZ_FRAMES_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hpc::testing {

inline constexpr uint8_t kFrameFlag = 0x80;  // of `what`: for the target to give it a meaning

struct Frame {
  uint8_t what = 0;
  std::string bytes;

  // Which of `kinds` kinds it is.
  size_t kind(size_t kinds) const { return static_cast<size_t>(what & ~kFrameFlag) % kinds; }
  bool flag() const { return (what & kFrameFlag) != 0; }
  // Its bytes as a number, big endian.
  uint64_t number() const;
};

// At most the first 40.
std::vector<Frame> SplitFrames(const uint8_t* data, size_t size);

// What a frame of a kind holds: a message of the type of the one it points to; null: a number.
using FrameKinds = std::vector<const google::protobuf::Message*>;

// For LLVMFuzzerCustomMutator.
size_t MutateFrames(const FrameKinds& kinds, uint8_t* data, size_t size, size_t max_size,
                    unsigned int seed);

}  // namespace hpc::testing

#endif  // HPC_TESTS_FUZZ_FRAMES_H_
