#include "member/http2/session.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/net/dial.h"
#include "common/pki/authority.h"
#include "common/status_macros.h"

namespace hpc::wire {
namespace {

// The pause before connecting again to a Unix socket whose queue of waiting connections is full.
constexpr absl::Duration kFullQueue = absl::Milliseconds(5);
constexpr size_t kMostUnsent = 256 << 10;
// At most this many bytes of messages are handed on before the session reads from the coordinator
// again. Once kMostLeft bytes have arrived and not been handed on, it reads no more.
constexpr size_t kTakenAtOnce = 64 << 10;
constexpr size_t kMostLeft = 256 << 10;

MonoTime Clock() { return RealClock().Get().mono; }

absl::StatusOr<UniqueFd> Connect(const Endpoint& endpoint, MonoTime deadline, int stop_fd) {
  if (!endpoint.is_unix) return Dial(endpoint, deadline, stop_fd);
  while (true) {
    UniqueFd fd = DialUnix(endpoint.path);
    if (fd.ok()) return fd;
    if (errno != EAGAIN) return absl::UnavailableError(std::strerror(errno));
    if (Clock() >= deadline) return absl::DeadlineExceededError("it does not answer");
    pollfd stop{.fd = stop_fd, .events = POLLIN, .revents = 0};
    if (poll(&stop, 1, static_cast<int>(absl::ToInt64Milliseconds(kFullQueue))) > 0) {
      return absl::CancelledError("interrupted");
    }
  }
}

absl::StatusOr<std::unique_ptr<pki::TlsClient>> TlsOf(const Endpoint& endpoint,
                                                      const member::Security& security) {
  if (endpoint.is_unix || !security.is_tls()) return nullptr;
  return pki::TlsClient::Make(security.authorities, security.key, security.certificate,
                              std::string(pki::kCoordinatorHost));
}

}  // namespace

Session::Session(Socket socket, bool is_tls)
    : socket_(std::move(socket)), http2_(is_tls), heard_(Clock()), asked_(MonoTime::Infinite()) {}

Session::~Session() = default;

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const Endpoint& endpoint,
                                                       const member::Security& security,
                                                       MonoTime deadline, int stop_fd,
                                                       absl::FunctionRef<void()> meanwhile) {
  HPC_ASSIGN_OR_RETURN(UniqueFd fd, Connect(endpoint, deadline, stop_fd));
  HPC_ASSIGN_OR_RETURN(std::unique_ptr<pki::TlsClient> tls, TlsOf(endpoint, security));
  const bool is_tls = tls != nullptr;
  std::unique_ptr<Session> session(new Session({std::move(fd), std::move(tls)}, is_tls));
  HPC_RETURN_IF_ERROR(session->socket_.Begin());
  meanwhile();
  HPC_RETURN_IF_ERROR(session->socket_.Handshake(deadline, stop_fd));
  // Our own first bytes normally go with the first call, because the coordinator speaks first. So
  // nothing is sent to a peer that turns out to be something else. In plain text nothing is sent at
  // first either: the peer may wait for TLS, and would send us away.
  bool speak = !endpoint.is_unix && !is_tls;
  while (true) {
    // The first pass reads what came with the end of the handshake.
    HPC_RETURN_IF_ERROR(session->Receive());
    if (session->http2_.spoken()) return session;
    if (speak) HPC_RETURN_IF_ERROR(session->Send());
    HPC_RETURN_IF_ERROR(Await(session->socket_.fd(), POLLIN, deadline, stop_fd));
    speak = true;
  }
}

absl::Status Session::Call(const std::string& method, Outgoing* outgoing, Answer::Sink sink,
                           int stop_fd) {
  Answer answer;
  HPC_RETURN_IF_ERROR(http2_.Begin(method, outgoing, &answer));
  absl::Status status = Send();
  while (true) {
    const absl::StatusOr<size_t> taken = answer.TakeMessages(kTakenAtOnce, sink);
    if (!taken.ok()) {
      status = taken.status();
      break;
    }
    // All that has come is handed on before the call ends, even if nothing more will come.
    const bool over = !status.ok() || http2_.answered();
    const bool wait = *taken == 0;
    if (over && wait) break;
    // It reads on before all is handed on, so that the coordinator need not wait meanwhile.
    if (!over && (wait || answer.left() < kMostLeft)) status = Exchange(*outgoing, stop_fd, wait);
  }
  http2_.End();
  broken_ = !status.ok();
  return status.ok() ? answer.status() : status;
}

absl::Status Session::Exchange(const Outgoing& outgoing, int stop_fd, bool wait) {
  HPC_RETURN_IF_ERROR(AwaitMore(outgoing, stop_fd, wait));
  HPC_RETURN_IF_ERROR(Receive());
  return http2_.answered() ? absl::OkStatus() : Send();
}

absl::Status Session::Receive() {
  return socket_.Read([this](absl::string_view bytes) {
    heard_ = Clock();
    asked_ = MonoTime::Infinite();
    return http2_.Receive(bytes);
  });
}

absl::Status Session::Send() {
  absl::string_view bytes;
  // Writes until there is no more or the socket is full. Only then is the socket waited for.
  do {
    while (socket_.unsent() < kMostUnsent && !(bytes = http2_.Output()).empty()) {
      HPC_RETURN_IF_ERROR(socket_.Write(bytes));
    }
    HPC_RETURN_IF_ERROR(socket_.Flush());
  } while (!bytes.empty() && socket_.unsent() == 0);
  return http2_.Check();
}

absl::Status Session::AwaitMore(const Outgoing& outgoing, int stop_fd, bool wait) {
  const bool asked = asked_ != MonoTime::Infinite();
  const absl::Duration left =
      (asked ? asked_ + patience_.answer : heard_ + patience_.silence) - Clock();
  const auto milliseconds = absl::ToInt64Milliseconds(std::max(left, absl::ZeroDuration()));
  const short to_send = socket_.unsent() > 0 ? POLLOUT : 0;                 // NOLINT: poll's type
  pollfd fds[] = {{socket_.fd(), static_cast<short>(POLLIN | to_send), 0},  // NOLINT
                  {stop_fd, POLLIN, 0},
                  {http2_.waits() ? outgoing.fd() : -1, POLLIN, 0}};
  const int ready = poll(fds, 3, wait ? static_cast<int>(milliseconds) + 1 : 0);
  if (fds[1].revents != 0) return absl::CancelledError("interrupted");
  if (fds[2].revents != 0) http2_.Resume();
  if (ready != 0 || !wait) return absl::OkStatus();
  if (asked) return absl::UnavailableError("it does not answer");
  http2_.Ping();
  asked_ = Clock();
  return absl::OkStatus();
}

bool Session::Usable() {
  if (broken_) return false;
  const absl::Status status = Receive();
  broken_ = !status.ok();
  return !broken_ && http2_.open();
}

}  // namespace hpc::wire
