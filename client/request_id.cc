#include "client/request_id.h"

#include "absl/strings/str_format.h"
#include "common/random_number.h"

namespace hpc::client {

std::string NewRequestId() { return absl::StrFormat("%016x%016x", RandomNumber(), RandomNumber()); }

}  // namespace hpc::client
