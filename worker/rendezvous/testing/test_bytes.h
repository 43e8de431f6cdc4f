// Requests and answers written out as bytes, independent of the code that is tested. Tests only.
#ifndef HPC_WORKER_RENDEZVOUS_TESTING_TEST_BYTES_H_
#define HPC_WORKER_RENDEZVOUS_TESTING_TEST_BYTES_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace hpc::worker::store::testing {

inline std::string Number(uint64_t value, int bytes) {
  std::string out;
  for (; bytes > 0; --bytes, value >>= 8) out.push_back(static_cast<char>(value & 0xff));
  return out;
}
inline std::string U8(uint8_t value) { return Number(value, 1); }
inline std::string U32(uint32_t value) { return Number(value, 4); }
inline std::string U64(uint64_t value) { return Number(value, 8); }
inline std::string I64(int64_t value) { return Number(static_cast<uint64_t>(value), 8); }
inline std::string Text(absl::string_view text) {
  return absl::StrCat(Number(text.size(), 8), text);
}

// Two digits make a byte.
inline std::string Hex(absl::string_view digits) {
  std::string out;
  for (size_t i = 0; i < digits.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

// VALIDATE and its magic number.
inline std::string Hello() { return Hex("00cef7853c"); }

// Requests in the numbering that begins with VALIDATE.
inline std::string Set(absl::string_view key, absl::string_view value) {
  return absl::StrCat(U8(1), Text(key), Text(value));
}
inline std::string CompareSet(absl::string_view key, absl::string_view expected,
                              absl::string_view desired) {
  return absl::StrCat(U8(2), Text(key), Text(expected), Text(desired));
}
inline std::string Get(absl::string_view key) { return absl::StrCat(U8(3), Text(key)); }
inline std::string Add(absl::string_view key, int64_t amount) {
  return absl::StrCat(U8(4), Text(key), I64(amount));
}
inline std::string Wait(absl::string_view key) { return absl::StrCat(U8(6), U64(1), Text(key)); }
inline std::string GetNumKeys() { return U8(7); }
inline std::string CancelWait() { return U8(12); }
inline std::string Ping(uint32_t nonce) { return absl::StrCat(U8(13), U32(nonce)); }
inline std::string QueuePush(absl::string_view key, absl::string_view value) {
  return absl::StrCat(U8(14), Text(key), Text(value));
}
inline std::string QueuePop(absl::string_view key) { return absl::StrCat(U8(15), Text(key)); }
inline std::string Barrier(absl::string_view key, int64_t world) {
  return absl::StrCat(U8(18), Text(key), I64(world));
}

}  // namespace hpc::worker::store::testing

#endif  // HPC_WORKER_RENDEZVOUS_TESTING_TEST_BYTES_H_
