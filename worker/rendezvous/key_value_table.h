// What the clients of one rendezvous store share: values, queues, and the list of who waits for
// them.
#ifndef HPC_WORKER_RENDEZVOUS_KEY_VALUE_TABLE_H_
#define HPC_WORKER_RENDEZVOUS_KEY_VALUE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/rendezvous/waiters.h"

namespace hpc::worker::store {

// The limit for all keys, values and queued elements together, plus kEntryOverhead for each.
inline constexpr size_t kMaxTableBytes = size_t{256} << 20;
inline constexpr size_t kEntryOverhead = 64;

// The operations of the protocol. Values and queues are kept apart: Get, NumKeys, ListKeys and
// DeleteKey do not see a queue as a key. But a queue with an element satisfies Check and Wait.
//
// An error changes nothing. It means that the client must be disconnected, since most operations
// have no answer that could carry an error. ResourceExhausted: the table or a value would become
// too large. InvalidArgument: there is nothing to add to. OutOfRange: a sum does not fit.
class KeyValueTable {
 public:
  explicit KeyValueTable(size_t max_bytes = kMaxTableBytes) : max_bytes_(max_bytes) {}

  absl::Status Set(absl::string_view key, std::string value);
  // "" if there is no such key.
  absl::string_view Get(absl::string_view key) const;
  // Returns the value that the key has afterwards. A missing key is set if `expected` is "".
  // Otherwise it stays missing, and the answer is `expected`.
  absl::StatusOr<std::string> CompareSet(absl::string_view key, absl::string_view expected,
                                         std::string desired);
  // Adds to the decimal number that the value begins with (a missing key counts as 0), and stores
  // the sum as decimal text.
  absl::StatusOr<int64_t> Add(absl::string_view key, int64_t amount);
  absl::Status Append(absl::string_view key, absl::string_view value);
  // Returns the number of keys that were deleted.
  int64_t DeleteKey(absl::string_view key);
  int64_t NumKeys() const { return static_cast<int64_t>(values_.size()); }
  std::vector<std::string> ListKeys() const;  // sorted

  absl::Status QueuePush(absl::string_view key, std::string value);
  // The oldest element; nullopt if there is none.
  std::optional<std::string> QueuePop(absl::string_view key);
  int64_t QueueLen(absl::string_view key) const;

  bool Check(const std::vector<std::string>& keys) const;

  // nullopt: all keys are there already. Otherwise returns the id of a wait, which TakeEnded will
  // return once all keys have come.
  std::optional<uint64_t> Wait(uint64_t owner, const std::vector<std::string>& keys);
  // Counts one more client under `key`. nullopt: the count has reached `world`, and this also ends
  // the waits of those that came before. Otherwise returns the id of a wait. The count is never
  // reset.
  absl::StatusOr<std::optional<uint64_t>> Barrier(uint64_t owner, absl::string_view key,
                                                  int64_t world);
  void CancelWait(uint64_t id) { waiters_.Cancel(id); }
  // The waits that have ended since the last call, in order.
  std::vector<Waiters::Wait> TakeEnded();

  const Waiters& waiters() const { return waiters_; }
  size_t bytes() const { return bytes_; }

 private:
  bool Has(const std::string& key) const;
  // Stores `value` under `key`, without waking anyone.
  absl::Status Put(absl::string_view key, std::string value);
  absl::Status CheckRoom(size_t more, size_t less) const;
  // The number under `key` plus `amount`, without storing it.
  absl::StatusOr<int64_t> Sum(absl::string_view key, int64_t amount) const;
  void KeyCame(absl::string_view key);
  void KeepEnded(const std::vector<Waiters::Wait>& ended);

  const size_t max_bytes_;
  size_t bytes_ = 0;
  absl::btree_map<std::string, std::string> values_;
  absl::btree_map<std::string, std::list<std::string>> queues_;  // none is empty
  Waiters waiters_;
  std::vector<Waiters::Wait> ended_;
};

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_KEY_VALUE_TABLE_H_
