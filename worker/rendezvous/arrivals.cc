#include "worker/rendezvous/arrivals.h"

namespace hpc::worker::store {

bool Arrivals::Came(absl::string_view address, int64_t pid) {
  if (list_.size() >= kMaxArrivals) return false;
  if (!seen_.emplace(std::string(address), pid).second) return false;
  list_.push_back({std::string(address), pid});
  return true;
}

}  // namespace hpc::worker::store
