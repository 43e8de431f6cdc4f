// Knows who waits for which keys. It knows no values: the table tells it which key has come.
#ifndef HPC_WORKER_RENDEZVOUS_WAITERS_H_
#define HPC_WORKER_RENDEZVOUS_WAITERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"

namespace hpc::worker::store {

class Waiters {
 public:
  struct Wait {
    uint64_t id = 0;     // never reused
    uint64_t owner = 0;  // as given to Add
    bool operator==(const Wait&) const = default;
  };

  // Adds a wait that ends once every one of `keys` (at least one) has come.
  uint64_t Add(uint64_t owner, const std::vector<std::string>& keys);

  // `key` has come. Returns the waits that this ends, oldest first; they are then forgotten.
  std::vector<Wait> Came(absl::string_view key);
  // The same for something that only one client can have: stops after the first wait that ends.
  std::vector<Wait> CameForOne(absl::string_view key);

  // Forgets a wait. Does nothing if it has ended.
  void Cancel(uint64_t id);

  size_t size() const { return waits_.size(); }
  // The key that most waits lack. Among equals it is the one waited for longest. "" if nobody
  // waits.
  std::string MostAwaitedKey() const;

 private:
  struct State {
    uint64_t owner = 0;
    std::set<std::string> missing;
  };

  uint64_t next_id_ = 1;
  std::map<uint64_t, State> waits_;
  absl::btree_map<std::string, std::set<uint64_t>> by_key_;
};

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_WAITERS_H_
