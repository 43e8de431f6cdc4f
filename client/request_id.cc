#include "client/request_id.h"

#include <random>

#include "absl/strings/str_format.h"

namespace hpc::client {

std::string NewRequestId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(), random());
}

}  // namespace hpc::client
