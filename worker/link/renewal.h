// Keeps the worker's membership valid while the worker runs.
#ifndef HPC_WORKER_LINK_RENEWAL_H_
#define HPC_WORKER_LINK_RENEWAL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/membership.h"
#include "worker/link/route.h"
#include "worker/loop/background.h"
#include "worker/loop/event_loop.h"

namespace hpc::worker {

// Everything happens on the loop's thread, except what waits for the disk or the coordinator, which
// is on another thread.
class Renewal {
 public:
  static constexpr absl::Duration kCheckInterval = absl::Minutes(10);

  // `membership` is what `folder` holds. This object looks after it for as long as it lives.
  Renewal(EventLoop* loop, Route* route, std::string folder, pki::Membership membership);
  ~Renewal();

  // Must be called when the coordinator has answered. Remembers the address, and renews the
  // certificate if it is due or if the coordinator shows an authority that is not known yet.
  void OnConnected(absl::Time now);
  // Does the same while the connection stays: renews if the certificate is due, or if the
  // coordinator shows a new authority to new connections. It is called by itself every
  // kCheckInterval.
  void Check(absl::Time now);
  // Gets a fresh key and certificate, saves them, and uses them for new connections. A failure is
  // logged, and tried again at the next connection or check.
  void RenewNow();

 private:
  void CheckLater();
  void Remember(std::vector<Endpoint> addresses);
  void OnRenewed(const absl::StatusOr<pki::Membership>& renewed);

  EventLoop* const loop_;
  Route* const route_;
  const std::string folder_;
  pki::Membership membership_;
  bool renewing_ = false;
  EventLoop::TimerId timer_ = 0;
  Background background_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_RENEWAL_H_
