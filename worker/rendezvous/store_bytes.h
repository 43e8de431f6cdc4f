// The bytes of PyTorch's TCPStore protocol: operations, limits, and how answers are written.
// docs/RENDEZVOUS.md has the table of operations.
#ifndef HPC_WORKER_RENDEZVOUS_STORE_BYTES_H_
#define HPC_WORKER_RENDEZVOUS_STORE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::worker::store {

// Each value is the type byte of the numbering that begins with VALIDATE (torch >= 2.2).
enum class Op : uint8_t {
  kValidate = 0,
  kSet = 1,
  kCompareSet = 2,
  kGet = 3,
  kAdd = 4,
  kCheck = 5,
  kWait = 6,
  kGetNumKeys = 7,
  kDeleteKey = 8,
  kAppend = 9,
  kMultiGet = 10,
  kMultiSet = 11,
  kCancelWait = 12,
  kPing = 13,
  kQueuePush = 14,
  kQueuePop = 15,
  kQueueLen = 16,
  kListKeys = 17,
  kBarrier = 18,
};

inline constexpr uint32_t kValidateMagic = 0x3C85F7CE;

// The limits of torch's own server.
inline constexpr size_t kMaxKeyBytes = 8192;
inline constexpr size_t kMaxValueBytes = size_t{8} << 20;
inline constexpr size_t kMaxKeysPerRequest = 131'072;
// The limit for all keys of one CHECK or WAIT together. This one is ours: torch's server would take
// 1 GiB.
inline constexpr size_t kMaxKeyListBytes = size_t{16} << 20;

// Answers to CHECK.
inline constexpr uint8_t kReady = 0;
inline constexpr uint8_t kNotReady = 1;
// Answers to WAIT, BARRIER and CANCEL_WAIT.
inline constexpr uint8_t kStopWaiting = 0;
inline constexpr uint8_t kWaitCanceled = 1;

// One request. `op` decides which members mean something.
struct Request {
  Op op = Op::kSet;
  std::string key;
  std::string value;              // SET, APPEND, QUEUE_PUSH; COMPARE_SET: the desired value
  std::string expected;           // COMPARE_SET
  std::vector<std::string> keys;  // CHECK, WAIT
  int64_t number = 0;             // ADD: what to add; BARRIER: world size; PING: the nonce
  bool operator==(const Request&) const = default;
};

// Integers are little-endian. Text is its length as u64, followed by its bytes.
void AppendByte(uint8_t value, std::string* out);
void AppendUint32(uint32_t value, std::string* out);
void AppendInt64(int64_t value, std::string* out);
void AppendText(absl::string_view text, std::string* out);

// `bytes` must have at least 4 bytes (DecodeUint32) or 8.
uint32_t DecodeUint32(absl::string_view bytes);
uint64_t DecodeUint64(absl::string_view bytes);

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_STORE_BYTES_H_
