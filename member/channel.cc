#include "member/channel.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel_posix.h>
#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "common/dial.h"
#include "common/pki/authority.h"
#include "common/pki/lean_tls.h"

namespace hpc::member {
namespace {

// gRPC writes to stderr, at each try, what its caller is told anyway. Unless somebody asks for it.
void SilenceGrpc() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_function([](gpr_log_func_args* args) {
    // Its last words: the process aborts behind them.
    if (!absl::StartsWith(args->message, "assertion failed")) return;
    std::fprintf(stderr, "gRPC: %s:%d: %s\n", args->file, args->line, args->message);
  });
}

void BeforeTheFirstChannel() {
  [[maybe_unused]] static const bool silenced = (SilenceGrpc(), true);
}

// gRPC's own beginning, which the first channel would wait for.
class Begun {
 public:
  Begun() { grpc_init(); }
  ~Begun() { grpc_shutdown(); }
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;
};

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const Endpoint& endpoint, const Security& security,
                                           grpc::ChannelArguments arguments) {
  BeforeTheFirstChannel();
  // The coordinator is in the same house: a proxy set for the web is not on the way to it.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (endpoint.is_unix || !security.is_tls()) {
    return grpc::CreateCustomChannel(endpoint.ToString(), grpc::InsecureChannelCredentials(),
                                     arguments);
  }
  pki::KeepTlsLean();
  arguments.SetSslTargetNameOverride(std::string(pki::kCoordinatorHost));
  return grpc::CreateCustomChannel(
      endpoint.ToString(),
      grpc::SslCredentials({security.authorities, security.key, security.certificate}), arguments);
}

LocalChannel MakeLocalChannel(const std::string& path, MonoTime deadline,
                              grpc::ChannelArguments arguments) {
  UniqueFd socket = DialUnix(path);
  if (!socket.ok()) return {};
  BeforeTheFirstChannel();
  const Begun begun;  // while the coordinator accepts us
  LocalChannel local{nullptr, UniqueFd(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0))};
  const bool spoken = Await(socket.get(), POLLIN, deadline).ok();
  if (!spoken || !local.socket.ok() || local.Ended()) return {};
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  local.channel = grpc::CreateCustomInsecureChannelFromFd(path, socket.Release(), arguments);
  return local;
}

bool LocalChannel::Ended() const {
  pollfd ended{.fd = socket.get(), .events = POLLRDHUP, .revents = 0};
  return poll(&ended, 1, 0) != 0;
}

std::string ShownOn(const grpc::ClientContext& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr) return "";
  const auto chain = peer->FindPropertyValues(GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME);
  return chain.empty() ? "" : std::string(chain[0].data(), chain[0].size());
}

}  // namespace hpc::member
