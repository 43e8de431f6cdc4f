// The member that a certificate speaks for.
#ifndef HPC_COMMON_PKI_IDENTITY_H_
#define HPC_COMMON_PKI_IDENTITY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc::pki {

enum class Role { kAdmin, kUser, kWorker, kCoordinator };

// Returns "admin", "user", "worker" or "coordinator".
absl::string_view RoleName(Role role);
// InvalidArgument names the text and lists the roles.
absl::StatusOr<Role> ParseRole(absl::string_view text);

struct Identity {
  std::string cluster;  // random, made with the cluster: 16 hexadecimal digits
  Role role = Role::kUser;
  std::string name;  // the user's, or that of the worker's node; CheckNodeName holds

  // Returns "hpc://<cluster>/<role>/<name>", as it stands in a certificate.
  std::string ToUri() const;
  // Returns the words for people: "user anna", "worker pc1".
  std::string ToString() const;
  bool operator==(const Identity&) const = default;
};

// InvalidArgument: `uri` does not have that form.
absl::StatusOr<Identity> ParseIdentityUri(absl::string_view uri);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_IDENTITY_H_
