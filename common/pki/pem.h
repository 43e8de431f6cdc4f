// Cuts text in PEM (RFC 7468) into its blocks. Their content is left to OpenSSL.
#ifndef HPC_COMMON_PKI_PEM_H_
#define HPC_COMMON_PKI_PEM_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::pki {

constexpr absl::string_view kKeyLabel = "PRIVATE KEY";
constexpr absl::string_view kCertificateLabel = "CERTIFICATE";

// Returns the blocks with this label in their order, each from its BEGIN line to the end of its END
// line. A block without an END line is left out.
std::vector<absl::string_view> PemBlocks(absl::string_view text, absl::string_view label);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_PEM_H_
