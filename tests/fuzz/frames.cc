#include "tests/fuzz/frames.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "tests/fuzz/message_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace hpc::testing {
namespace {

using google::protobuf::Message;

constexpr size_t kMaxFrames = 40;

std::string Join(const std::vector<Frame>& frames) {
  std::string bytes;
  for (const Frame& frame : frames) {
    bytes += static_cast<char>(frame.what);
    bytes += static_cast<char>(frame.bytes.size() & 0xff);
    bytes += static_cast<char>(frame.bytes.size() >> 8);
    bytes += frame.bytes;
  }
  return bytes;
}

void MutateBytes(const Message* kind, std::string* content, std::mt19937* random) {
  if (kind == nullptr) {
    *content = std::string(1 + (*random)() % 3, static_cast<char>((*random)() % 256));
    return;
  }
  const std::unique_ptr<Message> message(kind->New());
  (void)message->ParsePartialFromString(*content);
  for (size_t times = 1 + (*random)() % 3; times > 0; --times) MutateMessage(message.get(), random);
  std::string bytes = message->SerializeAsString();
  if (bytes.size() <= 60'000) *content = std::move(bytes);
}

void Mutate(const FrameKinds& kinds, std::vector<Frame>* frames, std::mt19937* random) {
  const auto pick = [random](size_t n) { return (*random)() % n; };
  const auto at = [&] { return frames->begin() + static_cast<ptrdiff_t>(pick(frames->size())); };
  const size_t how = frames->empty() ? 0 : pick(12);
  if (how == 0) {
    frames->insert(frames->empty() ? frames->end() : at(),
                   {static_cast<uint8_t>(pick(kinds.size())), ""});
  } else if (how == 1) {
    const Frame copy = *at();
    frames->insert(at(), copy);
  } else if (how == 2 && frames->size() > 1) {
    frames->erase(at());
  } else if (how == 3) {
    std::iter_swap(at(), at());
  } else if (how == 4) {
    at()->what ^= kFrameFlag;
  } else {
    Frame& frame = *at();
    MutateBytes(kinds[frame.kind(kinds.size())], &frame.bytes, random);
  }
}

}  // namespace

uint64_t Frame::number() const {
  uint64_t number = 0;
  for (const char c : bytes.substr(0, 8)) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

std::vector<Frame> SplitFrames(const uint8_t* data, size_t size) {
  std::vector<Frame> frames;
  while (size >= 3 && frames.size() < kMaxFrames) {
    const size_t length = std::min(size - 3, data[1] + size_t{256} * data[2]);
    frames.push_back({data[0], std::string(reinterpret_cast<const char*>(data) + 3, length)});
    data += 3 + length;
    size -= 3 + length;
  }
  return frames;
}

size_t MutateFrames(const FrameKinds& kinds, uint8_t* data, size_t size, size_t max_size,
                    unsigned int seed) {
  std::mt19937 random(seed);
  if (random() % 20 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<Frame> frames = SplitFrames(data, size);
  Mutate(kinds, &frames, &random);
  const std::string bytes = Join(frames);
  if (bytes.size() > max_size) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

}  // namespace hpc::testing
