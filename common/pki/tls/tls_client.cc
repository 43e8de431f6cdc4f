#include "common/pki/tls/tls_client.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <utility>

#include "common/pki/openssl.h"
#include "common/pki/tls/lean_provider.h"
#include "common/pki/tls/ssl.h"
#include "common/status_macros.h"

namespace hpc::pki {
namespace {

absl::Status Unusable(absl::string_view what) {
  return OpenSslError(absl::StatusCode::kInvalidArgument, what);
}

absl::Status Trust(absl::string_view authorities, SSL_CTX* context) {
  const BioPtr in = ReadFrom(authorities);
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  int count = 0;
  while (const X509Ptr one{PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(store, one.get()) != 1) return Unusable("an authority's certificate");
    ++count;
  }
  ERR_clear_error();  // the end of the text is reported as an error
  return count > 0 ? absl::OkStatus() : Unusable("no authority's certificate");
}

absl::Status Show(absl::string_view key_pem, absl::string_view certificate_pem, SSL_CTX* context) {
  const BioPtr key_text = ReadFrom(key_pem);
  const EvpPkeyPtr key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  const BioPtr certificate_text = ReadFrom(certificate_pem);
  const X509Ptr certificate(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr || SSL_CTX_use_certificate(context, certificate.get()) != 1) {
    return Unusable("the certificate");
  }
  if (key == nullptr || SSL_CTX_use_PrivateKey(context, key.get()) != 1) return Unusable("the key");
  // The further certificates lead from the first one to an authority.
  while (X509Ptr next{PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr)}) {
    if (SSL_CTX_add0_chain_cert(context, next.get()) != 1) return Unusable("the certificate");
    static_cast<void>(next.release());
  }
  ERR_clear_error();
  return absl::OkStatus();
}

}  // namespace

struct TlsClient::State {
  SslCtxPtr context;
  SslPtr ssl;
  BIO* in = nullptr;   // owned by ssl
  BIO* out = nullptr;  // owned by ssl
};

TlsClient::TlsClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsClient::~TlsClient() = default;

absl::StatusOr<std::unique_ptr<TlsClient>> TlsClient::Make(absl::string_view authorities,
                                                           absl::string_view key,
                                                           absl::string_view certificate,
                                                           const std::string& host) {
  UseLeanProvider();
  auto state = std::make_unique<State>();
  state->context.reset(SSL_CTX_new(TLS_client_method()));
  if (state->context == nullptr) return OpenSslError(absl::StatusCode::kInternal, "TLS");
  SSL_CTX* const context = state->context.get();
  SpeakAsClient(context);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  HPC_RETURN_IF_ERROR(Trust(authorities, context));
  if (!certificate.empty()) HPC_RETURN_IF_ERROR(Show(key, certificate, context));
  state->ssl.reset(SSL_new(context));
  state->in = BIO_new(BIO_s_mem());
  state->out = BIO_new(BIO_s_mem());
  // An empty buffer is not the end of the connection.
  BIO_set_mem_eof_return(state->in, -1);
  SSL_set_bio(state->ssl.get(), state->in, state->out);
  SSL_set_connect_state(state->ssl.get());
  if (SSL_set1_host(state->ssl.get(), host.c_str()) != 1 ||
      SSL_set_tlsext_host_name(state->ssl.get(), host.c_str()) != 1) {
    return Unusable(host);
  }
  return std::unique_ptr<TlsClient>(new TlsClient(std::move(state)));
}

void TlsClient::Receive(absl::string_view bytes) {
  BIO_write(state_->in, bytes.data(), static_cast<int>(bytes.size()));
}

std::string TlsClient::TakeOutput() {
  std::string bytes = Written(state_->out);
  if (!bytes.empty()) BIO_reset(state_->out);
  return bytes;
}

absl::StatusOr<bool> TlsClient::Handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(state_->ssl.get());
  if (done == 1) return true;
  if (SSL_get_error(state_->ssl.get(), done) == SSL_ERROR_WANT_READ) return false;
  const bool known = SSL_get_verify_result(state_->ssl.get()) == X509_V_OK;
  return OpenSslError(known ? absl::StatusCode::kUnavailable : absl::StatusCode::kUnauthenticated,
                      "TLS");
}

absl::Status TlsClient::Write(absl::string_view plain) {
  ERR_clear_error();
  if (plain.empty()) return absl::OkStatus();
  size_t written = 0;
  if (SSL_write_ex(state_->ssl.get(), plain.data(), plain.size(), &written) == 1) {
    return absl::OkStatus();
  }
  return OpenSslError(absl::StatusCode::kUnavailable, "TLS");
}

absl::Status TlsClient::Read(std::string* plain) {
  std::array<char, 16 << 10> record;
  while (true) {
    ERR_clear_error();
    size_t count = 0;
    const int done = SSL_read_ex(state_->ssl.get(), record.data(), record.size(), &count);
    if (done == 1) {
      plain->append(record.data(), count);
      continue;
    }
    switch (SSL_get_error(state_->ssl.get(), done)) {
      case SSL_ERROR_WANT_READ:
        return absl::OkStatus();
      case SSL_ERROR_ZERO_RETURN:
        return absl::UnavailableError("the connection was closed");
      default:
        return OpenSslError(absl::StatusCode::kUnavailable, "TLS");
    }
  }
}

std::string TlsClient::Shown() const {
  const BioPtr out(BIO_new(BIO_s_mem()));
  STACK_OF(X509)* const chain = SSL_get_peer_cert_chain(state_->ssl.get());
  for (int i = 0; i < sk_X509_num(chain); ++i)
    PEM_write_bio_X509(out.get(), sk_X509_value(chain, i));
  return Written(out.get());
}

}  // namespace hpc::pki
