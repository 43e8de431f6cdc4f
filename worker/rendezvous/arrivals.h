// Which processes have come to the store.
#ifndef HPC_WORKER_RENDEZVOUS_ARRIVALS_H_
#define HPC_WORKER_RENDEZVOUS_ARRIVALS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "worker/rendezvous/store_server.h"

namespace hpc::worker::store {

// Later arrivals are not kept: no gang is as large, and clients are not trusted.
inline constexpr size_t kMaxArrivals = 65'536;

// A client of torch >= 2.5 names its process in its first PING. Together with the peer's address,
// that identifies a process on one PC, and the PC's worker knows the rank of it. Every clone of a
// client's store is another connection that names the same process.
class Arrivals {
 public:
  // True if nobody has come from this address with this pid yet.
  bool Came(absl::string_view address, int64_t pid);

  // In the order in which they came, without duplicates.
  const std::vector<StoreStatus::Arrival>& list() const { return list_; }

 private:
  std::vector<StoreStatus::Arrival> list_;
  std::set<std::tuple<std::string, int64_t>> seen_;
};

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_ARRIVALS_H_
