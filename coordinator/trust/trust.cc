#include "coordinator/trust/trust.h"

namespace hpc::coordinator {

absl::Status NeedTrust(const Trust* trust) {
  if (trust != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this coordinator has no authority: run hpcctl cluster init on its machine once, then start "
      "it without --insecure");
}

}  // namespace hpc::coordinator
