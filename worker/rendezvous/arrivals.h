// Who has come to the store.
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

// Later ones are not kept: no gang is as large, and who asks is not trusted.
inline constexpr size_t kMaxArrivals = 65'536;

// A client of torch >= 2.5 names its process in its first PING; with the peer's address that is a
// process of one PC, which the PC's worker knows the rank of. Every clone of a client's store is
// another connection that names the same process.
class Arrivals {
 public:
  // True if nobody has come from there under this pid yet.
  bool Came(absl::string_view address, int64_t pid);

  // In order, without doubles.
  const std::vector<StoreStatus::Arrival>& list() const { return list_; }

 private:
  std::vector<StoreStatus::Arrival> list_;
  std::set<std::tuple<std::string, int64_t>> seen_;
};

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_ARRIVALS_H_
