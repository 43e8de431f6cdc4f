#include "common/pki/tls/probe.h"

#include <openssl/err.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/net/dial.h"
#include "common/pki/openssl.h"
#include "common/pki/tls/ssl.h"
#include "common/pki/verify.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace hpc::pki {
namespace {

// OpenSSL writes without MSG_NOSIGNAL, but a server that hangs up must not end the program.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    const timespec now{};
    sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

// Returns a context with all of OpenSSL, whatever this process has left out of its own, because
// anybody may answer. Objects that are read with it refer to it for as long as they live.
OSSL_LIB_CTX* Everything() {
  static OSSL_LIB_CTX* const everything = OSSL_LIB_CTX_new();
  return everything;
}

absl::Status Handshake(SSL* ssl, int fd, MonoTime deadline) {
  while (true) {
    ERR_clear_error();
    const int done = SSL_connect(ssl);
    if (done == 1) return absl::OkStatus();
    switch (SSL_get_error(ssl, done)) {
      case SSL_ERROR_WANT_READ:
        HPC_RETURN_IF_ERROR(Await(fd, POLLIN, deadline));
        break;
      case SSL_ERROR_WANT_WRITE:
        HPC_RETURN_IF_ERROR(Await(fd, POLLOUT, deadline));
        break;
      case SSL_ERROR_SSL:
        return OpenSslError(absl::StatusCode::kUnavailable, "it does not speak TLS 1.3");
      default:
        return absl::UnavailableError("it closed the connection");
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<Certificate>> FetchCertificates(const Endpoint& endpoint,
                                                           absl::Duration timeout) {
  const MonoTime deadline = RealClock().Get().mono + timeout;
  HPC_ASSIGN_OR_RETURN(const UniqueFd fd, Dial(endpoint, deadline));
  const WithoutSigpipe without_sigpipe;
  const SslCtxPtr context(SSL_CTX_new_ex(Everything(), nullptr, TLS_client_method()));
  SpeakAsClient(context.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  const SslPtr ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), fd.get());
  HPC_RETURN_IF_ERROR(Handshake(ssl.get(), fd.get(), deadline));
  std::vector<Certificate> shown;
  STACK_OF(X509)* const chain = SSL_get_peer_cert_chain(ssl.get());
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    X509* const one = sk_X509_value(chain, i);
    X509_up_ref(one);
    shown.push_back(Certificate::Own(one));
  }
  return shown;
}

absl::StatusOr<Certificate> FindAuthority(const std::vector<Certificate>& shown,
                                          absl::string_view authority_hash) {
  const auto authority =
      std::find_if(shown.begin(), shown.end(), [authority_hash](const Certificate& one) {
        // After a rotation the coordinator shows the same key twice: also signed by the former
        // authority.
        return one.IsSelfSigned() && absl::string_view(one.PublicKeyHash()) == authority_hash;
      });
  if (authority == shown.end()) {
    return absl::UnauthenticatedError("it shows the certificate of another authority");
  }
  absl::StatusOr<Identity> identity =
      Verify(shown.front(), shown, {*authority}, Use::kServer, absl::InfinitePast());
  if (!identity.ok()) return identity.status();
  if (identity->role != Role::kCoordinator) {
    return absl::UnauthenticatedError(absl::StrCat("it is ", identity->ToString()));
  }
  return *authority;
}

}  // namespace hpc::pki
