// One channel to the coordinator, with what every call on it needs: how to begin it, how to end it
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
#include "common/endpoint.h"
#include "member/security.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace hpc::client {

// Thread-safe.
class Connection {
 public:
  // Connects, for at most five seconds, and calls `meanwhile` while the coordinator is at its part.
  // Unavailable, Unauthenticated: see WhyUnreachable.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const Endpoint& endpoint,
                                                          const member::Security& security,
                                                          absl::FunctionRef<void()> meanwhile);
  ~Connection();

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
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
  bool WaitUntilReady();
  // Cancelled once interrupted.
  absl::Status Begin(grpc::ClientContext* context);
  void End(grpc::ClientContext* context);
  bool interrupted() const;
  // Until there is a connection again. False if interrupted meanwhile.
  bool WaitBeforeRetry();
  absl::Duration NextPause();

  const Endpoint endpoint_;
  std::shared_ptr<grpc::Channel> channel_;
  std::function<void()> notice_;

  mutable absl::Mutex mutex_;
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
  bool away_ ABSL_GUARDED_BY(mutex_) = false;
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  std::mt19937 random_ ABSL_GUARDED_BY(mutex_);
  std::vector<grpc::ClientContext*> active_ ABSL_GUARDED_BY(mutex_);
  std::string shown_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CONNECTION_H_
