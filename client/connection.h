// The connection to the coordinator, with what every call on it needs: how to begin it, how to end
// it from another thread, and how to go on after the coordinator was away.
#ifndef HPC_CLIENT_CONNECTION_H_
#define HPC_CLIENT_CONNECTION_H_

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/net/endpoint.h"
#include "common/process/bell.h"
#include "member/http2/caller.h"
#include "member/http2/security.h"
#include "member/http2/session.h"

namespace hpc::client {

// Thread-safe: each of the calls that run at the same time has a session of its own.
class Connection {
 public:
  // Connects within `patience`. Calls `meanwhile` before it waits: over TCP the coordinator then
  // works on its part of the handshake. Unavailable, Unauthenticated: see WhyUnreachable.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const Endpoint& endpoint,
                                                          const member::Security& security,
                                                          absl::Duration patience,
                                                          absl::FunctionRef<void()> meanwhile);
  ~Connection();

  const Endpoint& endpoint() const { return endpoint_; }
  // Returns the certificates that the coordinator has shown, in PEM. It is "" without TLS, and
  // while a call uses the only session.
  std::string shown() const;

  // Once makes one call.
  using Call = absl::FunctionRef<absl::Status(wire::Caller)>;
  absl::Status Once(Call call);

  // Makes a call that may be repeated. While the coordinator is away, it is made again, with
  // back-off, until it is answered or Interrupt is called. A call that got something done before it
  // broke must call Progressed, so that the next outage counts as a new one.
  absl::Status Resume(Call call);
  void Progressed();

  // `notice` is called once at the beginning of each outage that Resume waits out.
  void OnAway(std::function<void()> notice) { notice_ = std::move(notice); }

  // Ends the calls in progress and all later ones with Cancelled.
  void Interrupt();

 private:
  Connection(const Endpoint& endpoint, const member::Security& security);
  absl::StatusOr<std::unique_ptr<wire::Session>> NewSession(MonoTime deadline,
                                                            absl::FunctionRef<void()> meanwhile);
  // Returns a free session, or a new one.
  absl::StatusOr<std::unique_ptr<wire::Session>> TakeSession();
  void Return(std::unique_ptr<wire::Session> session);
  // Makes a call on a session of its own. Unavailable: there is no session.
  absl::Status Make(Call call);
  bool interrupted() const;
  // Waits before the next try. Returns false if interrupted meanwhile.
  bool WaitBeforeRetry();
  absl::Duration NextPause();

  const Endpoint endpoint_;
  const member::Security security_;
  const Bell interrupt_;
  std::function<void()> notice_;

  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<wire::Session>> free_ ABSL_GUARDED_BY(mutex_);
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
  bool away_ ABSL_GUARDED_BY(mutex_) = false;
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  std::mt19937 random_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CONNECTION_H_
