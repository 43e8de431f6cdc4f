// The keys that protect a connection to the coordinator and say who the caller is.
#ifndef HPC_MEMBER_HTTP2_SECURITY_H_
#define HPC_MEMBER_HTTP2_SECURITY_H_

#include <string>

#include "common/pki/certificate.h"
#include "common/pki/membership.h"

namespace hpc::member {

// All texts are PEM.
struct Security {
  std::string authorities;  // their coordinator is trusted; "": plain text
  std::string key;          // the caller's; "": it is nobody yet
  std::string certificate;

  bool is_tls() const { return !authorities.empty(); }

  static Security PlainText() { return {}; }
  static Security Of(const pki::Membership& membership) {
    return {membership.authorities_pem, membership.key_pem, membership.certificate_pem};
  }
  // For a caller that is about to join.
  static Security AsNobody(const pki::Certificate& authority) {
    return {authority.ToPem(), "", ""};
  }
};

}  // namespace hpc::member

#endif  // HPC_MEMBER_HTTP2_SECURITY_H_
