#include "coordinator/rpc/doors/client_hello.h"

#include <cstdint>
#include <optional>

namespace hpc::coordinator {
namespace {

constexpr uint8_t kHandshakeRecord = 0x16;
constexpr uint8_t kClientHello = 0x01;
constexpr uint32_t kSupportedVersions = 0x002b;
constexpr uint32_t kTls13 = 0x0304;
constexpr size_t kRecordHeader = 5;
constexpr size_t kVersionAndRandom = 2 + 32;

// Reads from the front of a text that RFC 8446 lays out. Each method returns nullopt once there are
// too few bytes.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}

  std::optional<uint32_t> Number(size_t bytes) {
    if (rest_.size() < bytes) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<uint8_t>(rest_[i]);
    rest_.remove_prefix(bytes);
    return value;
  }
  std::optional<absl::string_view> Take(size_t bytes) {
    if (rest_.size() < bytes) return std::nullopt;
    const absl::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  // Reads a vector, which follows its length; the length takes this many bytes.
  std::optional<absl::string_view> Vector(size_t length_bytes) {
    const std::optional<uint32_t> length = Number(length_bytes);
    return length ? Take(*length) : std::nullopt;
  }
  bool empty() const { return rest_.empty(); }

 private:
  absl::string_view rest_;
};

bool Offers(absl::string_view versions, uint32_t wanted) {
  Reader list(versions);
  const std::optional<absl::string_view> entries = list.Vector(1);
  if (!entries) return false;
  Reader reader(*entries);
  while (const std::optional<uint32_t> version = reader.Number(2)) {
    if (*version == wanted) return true;
  }
  return false;
}

// The extensions in the body of a ClientHello; nullopt if it has none or is malformed.
std::optional<absl::string_view> Extensions(absl::string_view body) {
  Reader reader(body);
  if (!reader.Take(kVersionAndRandom)) return std::nullopt;
  if (!reader.Vector(1)) return std::nullopt;  // session id
  if (!reader.Vector(2)) return std::nullopt;  // cipher suites
  if (!reader.Vector(1)) return std::nullopt;  // compression methods
  return reader.Vector(2);
}

bool OffersTls13(absl::string_view body) {
  const std::optional<absl::string_view> extensions = Extensions(body);
  if (!extensions) return false;
  Reader reader(*extensions);
  while (!reader.empty()) {
    const std::optional<uint32_t> type = reader.Number(2);
    const std::optional<absl::string_view> data = type ? reader.Vector(2) : std::nullopt;
    if (!data) return false;
    if (*type == kSupportedVersions) return Offers(*data, kTls13);
  }
  return false;
}

}  // namespace

Opening ClassifyOpening(absl::string_view bytes) {
  if (bytes.empty()) return Opening::kIncomplete;
  if (static_cast<uint8_t>(bytes[0]) != kHandshakeRecord) return Opening::kNotTls;
  if (bytes.size() > 1 && bytes[1] != 3) return Opening::kNotTls;
  if (bytes.size() < kRecordHeader) return Opening::kIncomplete;
  Reader record(bytes.substr(3));
  const uint32_t length = *record.Number(2);
  if (kRecordHeader + length > kMaxOpening) return Opening::kNotTls;
  const std::optional<absl::string_view> payload = record.Take(length);
  if (!payload) return Opening::kIncomplete;
  Reader message(*payload);
  const std::optional<uint32_t> type = message.Number(1);
  if (!type || *type != kClientHello) return Opening::kNotTls;
  const std::optional<absl::string_view> body = message.Vector(3);
  // A ClientHello that goes on in a further record is large, and thus a modern one. TLS will judge
  // it.
  if (!body) return Opening::kTls13;
  return OffersTls13(*body) ? Opening::kTls13 : Opening::kOldTls;
}

}  // namespace hpc::coordinator
