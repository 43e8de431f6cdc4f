// What protects a connection to the coordinator, and who the caller is on it.
#ifndef HPC_MEMBER_WIRE_SECURITY_H_
#define HPC_MEMBER_WIRE_SECURITY_H_

#include <string>

#include "common/pki/certificate.h"
#include "common/pki/membership.h"

namespace hpc::member {

// All in PEM.
struct Security {
  std::string authorities;  // whose coordinator is trusted; "": plain text
  std::string key;          // of the caller; "": it is nobody yet
  std::string certificate;

  bool is_tls() const { return !authorities.empty(); }

  static Security PlainText() { return {}; }
  static Security Of(const pki::Membership& membership) {
    return {membership.authorities_pem, membership.key_pem, membership.certificate_pem};
  }
  // For who is about to join.
  static Security AsNobody(const pki::Certificate& authority) {
    return {authority.ToPem(), "", ""};
  }
};

}  // namespace hpc::member

#endif  // HPC_MEMBER_WIRE_SECURITY_H_
