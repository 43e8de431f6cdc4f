// The membership of a PC or a person that has joined a cluster: a folder of three small files.
//   identity.pem     the private key and its certificate; mode 0600, replaced whole
//   authorities.pem  the authorities whose coordinator is trusted
//   addresses        of the coordinator, one a line, the one that answered last first
#ifndef HPC_COMMON_PKI_MEMBERSHIP_H_
#define HPC_COMMON_PKI_MEMBERSHIP_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/net/endpoint.h"
#include "common/pki/certificate.h"
#include "common/pki/identity.h"

namespace hpc::pki {

struct Membership {
  std::string key_pem;
  std::string certificate_pem;
  std::string authorities_pem;
  std::vector<Endpoint> addresses;
};

// NotFound: this folder holds no membership. InvalidArgument names the file that cannot be read as
// what it should be. PermissionDenied: the folder belongs to another user.
absl::StatusOr<Membership> LoadMembership(const std::string& folder);

// Works like LoadMembership, but does not parse keys and certificates. Parsing them costs OpenSSL
// milliseconds, and TLS does it again anyway.
absl::StatusOr<Membership> ReadMembership(const std::string& folder);

// Makes the folder (0700). The identity is written last, and one of another cluster is removed
// first, so that a membership exists whole or not at all.
absl::Status SaveMembership(const std::string& folder, const Membership& membership);

// Replaces only the file with the addresses.
absl::Status SaveAddresses(const std::string& folder, const std::vector<Endpoint>& addresses);

struct Holder {
  Identity identity;
  absl::Time not_before;
  absl::Time not_after;
};

// Returns whom the membership's certificate speaks for. InvalidArgument is as Certificate says.
absl::StatusOr<Holder> HolderOf(const Membership& membership);

// A certificate is renewed once a third of its time is left.
bool DueForRenewal(const Holder& holder, absl::Time now);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_MEMBERSHIP_H_
