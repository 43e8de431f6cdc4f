#include "client/connection.h"

#include <poll.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/discovery.h"
#include "common/random_number.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

constexpr absl::Duration kReconnectTime = absl::Seconds(5);
constexpr absl::Duration kFirstRetry = absl::Milliseconds(50);
constexpr absl::Duration kLongestRetry = absl::Seconds(2);

MonoTime ReconnectDeadline() { return RealClock().Get().mono + kReconnectTime; }

// Either the connection broke, or the coordinator is stopping. The same call may succeed later.
bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status);
}

}  // namespace

Connection::Connection(const Endpoint& endpoint, const member::Security& security)
    : endpoint_(endpoint),
      security_(security),
      backoff_(kFirstRetry, kLongestRetry),
      random_(static_cast<std::mt19937::result_type>(RandomNumber())) {}

Connection::~Connection() = default;

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const Endpoint& endpoint,
                                                             const member::Security& security,
                                                             absl::Duration patience,
                                                             absl::FunctionRef<void()> meanwhile) {
  std::unique_ptr<Connection> connection(new Connection(endpoint, security));
  const MonoTime deadline = RealClock().Get().mono + patience;
  auto session = connection->NewSession(deadline, meanwhile);
  if (!session.ok()) {
    return WhyUnreachable(endpoint, security, session.status(), deadline - RealClock().Get().mono);
  }
  connection->Return(*std::move(session));
  return connection;
}

absl::StatusOr<std::unique_ptr<wire::Session>> Connection::NewSession(
    MonoTime deadline, absl::FunctionRef<void()> meanwhile) {
  return wire::Session::Open(endpoint_, security_, deadline, interrupt_.fd(), meanwhile);
}

absl::StatusOr<std::unique_ptr<wire::Session>> Connection::TakeSession() {
  while (true) {
    std::unique_ptr<wire::Session> session;
    {
      absl::MutexLock lock(&mutex_);
      if (interrupted_) return absl::CancelledError("interrupted");
      if (free_.empty()) break;
      session = std::move(free_.back());
      free_.pop_back();
    }
    if (session->Usable()) return session;
  }
  absl::StatusOr<std::unique_ptr<wire::Session>> session = NewSession(ReconnectDeadline(), [] {});
  if (session.ok()) return session;
  return absl::UnavailableError(session.status().message());
}

void Connection::Return(std::unique_ptr<wire::Session> session) {
  if (session->broken()) return;  // its destructor closes it, so that the coordinator knows, too
  absl::MutexLock lock(&mutex_);
  free_.push_back(std::move(session));
}

std::string Connection::shown() const {
  absl::MutexLock lock(&mutex_);
  return free_.empty() ? "" : free_.back()->shown();
}

bool Connection::interrupted() const {
  absl::MutexLock lock(&mutex_);
  return interrupted_;
}

absl::Status Connection::Make(Call call) {
  HPC_ASSIGN_OR_RETURN(std::unique_ptr<wire::Session> session, TakeSession());
  absl::Status status = call(wire::Caller(session.get(), interrupt_.fd()));
  Return(std::move(session));
  return status;
}

absl::Status Connection::Once(Call call) {
  absl::Status status = Make(call);
  if (status.ok()) return status;
  if (interrupted()) return absl::CancelledError("interrupted");
  if (!IsAway(status)) return status;
  return absl::UnavailableError(absl::StrCat("the coordinator at ", endpoint_.ToString(),
                                             " went away before it answered (", status.message(),
                                             "). Try again"));
}

absl::Status Connection::Resume(Call call) {
  while (true) {
    absl::Status status = Make(call);
    // An answer is kept, even if an interrupt has made it unwanted meanwhile.
    if (!status.ok() && interrupted()) return absl::CancelledError("interrupted");
    if (!IsAway(status)) {
      Progressed();
      return status;
    }
    if (!WaitBeforeRetry()) return absl::CancelledError("interrupted");
  }
}

void Connection::Progressed() {
  absl::MutexLock lock(&mutex_);
  away_ = false;
  backoff_.Reset();
}

bool Connection::WaitBeforeRetry() {
  bool first = false;
  {
    absl::MutexLock lock(&mutex_);
    first = !std::exchange(away_, true);
  }
  if (first && notice_) notice_();
  while (!interrupted()) {
    pollfd stop{.fd = interrupt_.fd(), .events = POLLIN, .revents = 0};
    if (poll(&stop, 1, static_cast<int>(absl::ToInt64Milliseconds(NextPause()))) > 0) return false;
    absl::StatusOr<std::unique_ptr<wire::Session>> session = NewSession(ReconnectDeadline(), [] {});
    if (!session.ok()) continue;
    Return(*std::move(session));
    return true;
  }
  return false;
}

absl::Duration Connection::NextPause() {
  absl::MutexLock lock(&mutex_);
  return backoff_.Next(std::uniform_real_distribution<double>()(random_));
}

void Connection::Interrupt() {
  absl::MutexLock lock(&mutex_);
  interrupted_ = true;
  interrupt_.Ring();
}

}  // namespace hpc::client
