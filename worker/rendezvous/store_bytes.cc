#include "worker/rendezvous/store_bytes.h"

namespace hpc::worker::store {
namespace {

void AppendLittleEndian(uint64_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t DecodeLittleEndian(absl::string_view bytes, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

void AppendByte(uint8_t value, std::string* out) { AppendLittleEndian(value, 1, out); }

void AppendUint32(uint32_t value, std::string* out) { AppendLittleEndian(value, 4, out); }

void AppendInt64(int64_t value, std::string* out) {
  AppendLittleEndian(static_cast<uint64_t>(value), 8, out);
}

void AppendText(absl::string_view text, std::string* out) {
  AppendLittleEndian(text.size(), 8, out);
  out->append(text.data(), text.size());
}

uint32_t DecodeUint32(absl::string_view bytes) {
  return static_cast<uint32_t>(DecodeLittleEndian(bytes, 4));
}

uint64_t DecodeUint64(absl::string_view bytes) { return DecodeLittleEndian(bytes, 8); }

}  // namespace hpc::worker::store
