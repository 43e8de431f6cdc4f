// The way to the coordinator, with what every call on it needs: how to begin it, how to end it
// from another thread, and how to go on after the coordinator was away.
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
#include "common/endpoint.h"
#include "member/channel.h"
#include "member/security.h"

namespace hpc::client {

// Thread-safe.
class Connection {
 public:
  // Connects, for at most five seconds, and calls `meanwhile`, over TCP while the coordinator is at
  // its part.
  // Unavailable, Unauthenticated: see WhyUnreachable.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const Endpoint& endpoint,
                                                          const member::Security& security,
                                                          absl::FunctionRef<void()> meanwhile);
  ~Connection();

  // The channel for calls that begin now: over a Unix socket it is one that does not connect again,
  // until the coordinator was away once. Each lives as long as this.
  std::shared_ptr<grpc::Channel> channel() const;
  const Endpoint& endpoint() const { return endpoint_; }
  // The certificates that the coordinator has shown, in PEM; "" before the first call is over, and
  // without TLS.
  std::string shown() const;

  // Makes one call.
  using Call = absl::FunctionRef<grpc::Status(grpc::ClientContext*)>;
  absl::Status Once(Call call);

  // Makes a call that may be repeated: while the coordinator is away it is made again, with
  // back-off, until it is answered or Interrupt is called. A call that got something done before it
  // broke calls Progressed, so that the next outage is a new one.
  absl::Status Resume(Call call);
  void Progressed();

  // Called once at the beginning of each outage that Resume waits out.
  void OnAway(std::function<void()> notice) { notice_ = std::move(notice); }

  // Ends the calls in progress and all later ones with Cancelled.
  void Interrupt();

 private:
  Connection(const Endpoint& endpoint, const member::Security& security);
  // True if it is connected: over a Unix socket it waits for the coordinator's first word, else for
  // nothing.
  bool BeginConnecting(MonoTime deadline);
  bool WaitUntilReady(MonoTime deadline) const;
  // From now on calls are made on a channel that connects again.
  void LeaveLocalChannel() ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancelled once interrupted.
  absl::Status Begin(grpc::ClientContext* context);
  void End(grpc::ClientContext* context);
  bool interrupted() const;
  // Until there is a connection again. False if interrupted meanwhile.
  bool WaitBeforeRetry();
  absl::Duration NextPause();

  const Endpoint endpoint_;
  const member::Security security_;
  std::function<void()> notice_;
  member::LocalChannel local_;  // without a channel where there is none

  mutable absl::Mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);  // null while local_ is good
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
  bool away_ ABSL_GUARDED_BY(mutex_) = false;
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  std::mt19937 random_ ABSL_GUARDED_BY(mutex_);
  std::vector<grpc::ClientContext*> active_ ABSL_GUARDED_BY(mutex_);
  std::string shown_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CONNECTION_H_
