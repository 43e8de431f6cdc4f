#include "common/pki/verify.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/pki/openssl.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::pki {
namespace {

// A stack that does not own what it holds.
struct StackOfX509 {
  explicit StackOfX509(const std::vector<Certificate>& certificates) : stack(sk_X509_new_null()) {
    for (const Certificate& one : certificates) sk_X509_push(stack, one.get());
  }
  ~StackOfX509() { sk_X509_free(stack); }
  StackOfX509(const StackOfX509&) = delete;
  StackOfX509& operator=(const StackOfX509&) = delete;
  STACK_OF(X509) * stack;
};

absl::Status InWords(int error, const Certificate& certificate, Use use) {
  const auto refuse = [](const auto&... words) {
    return absl::UnauthenticatedError(absl::StrCat("the certificate ", words...));
  };
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return refuse("expired at ", HumanTime(certificate.not_after()));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return refuse("is not valid before ", HumanTime(certificate.not_before()));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return refuse("was not signed by this cluster's authority");
    case X509_V_ERR_INVALID_PURPOSE:
      return refuse("was not made for a ", use == Use::kClient ? "client" : "coordinator");
    default:
      return refuse("is not accepted: ", X509_verify_cert_error_string(error));
  }
}

void Configure(X509_STORE_CTX* context, Use use, absl::Time now) {
  X509_VERIFY_PARAM* const parameters = X509_STORE_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_purpose(
      parameters, use == Use::kClient ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER);
  if (now == absl::InfinitePast()) {
    X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_NO_CHECK_TIME);
  } else {
    X509_VERIFY_PARAM_set_time(parameters, absl::ToTimeT(now));
  }
}

}  // namespace

absl::StatusOr<Identity> Verify(const Certificate& certificate,
                                const std::vector<Certificate>& between,
                                const std::vector<Certificate>& trusted, Use use, absl::Time now) {
  const X509StorePtr store(X509_STORE_new());
  for (const Certificate& one : trusted) X509_STORE_add_cert(store.get(), one.get());
  const StackOfX509 untrusted(between);
  const X509StoreCtxPtr context(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), untrusted.stack) != 1) {
    return OpenSslError(absl::StatusCode::kInternal, "cannot check a certificate");
  }
  Configure(context.get(), use, now);
  if (X509_verify_cert(context.get()) != 1) {
    return InWords(X509_STORE_CTX_get_error(context.get()), certificate, use);
  }
  absl::StatusOr<Identity> identity = certificate.GetIdentity();
  if (!identity.ok()) return absl::UnauthenticatedError(identity.status().message());
  return identity;
}

}  // namespace hpc::pki
