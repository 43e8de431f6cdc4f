#include "client/request_id.h"

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/random_number.h"

namespace hpc::client {

std::string NewRequestId() {
  const uint64_t now = static_cast<uint64_t>(absl::ToUnixMicros(absl::Now()));
  return absl::StrFormat("%014x%02x%016x", now & 0xffffffffffffff, RandomNumber() & 0xff,
                         RandomNumber());
}

}  // namespace hpc::client
