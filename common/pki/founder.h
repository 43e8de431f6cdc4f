// The first member of a cluster: whoever makes the cluster. The founder gets in without a token,
// since no coordinator runs yet that could give one out.
#ifndef HPC_COMMON_PKI_FOUNDER_H_
#define HPC_COMMON_PKI_FOUNDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/pki/certificate.h"
#include "common/pki/keyring.h"
#include "common/pki/membership.h"

namespace hpc::pki {

// Makes a membership for admin `name`, without addresses. The membership is not saved here. Its
// certificate is written down in the keyring's folder, so that the coordinator can list and revoke
// it.
absl::StatusOr<Membership> MakeFounder(const Keyring& keyring, const std::string& keyring_folder,
                                       const std::string& name, absl::Time now);

// Reads the certificate that MakeFounder wrote down. NotFound: there is none. InvalidArgument names
// the file that is damaged.
absl::StatusOr<Certificate> LoadFounder(const std::string& keyring_folder);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_FOUNDER_H_
