// Keeps the worker's membership good while the worker runs.
#ifndef HPC_WORKER_LINK_ENROLMENT_H_
#define HPC_WORKER_LINK_ENROLMENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/membership.h"
#include "worker/link/route.h"
#include "worker/loop/background.h"
#include "worker/loop/event_loop.h"

namespace hpc::worker {

// Everything is on the loop's thread; what waits for the disk or the coordinator is on another.
class Enrolment {
 public:
  static constexpr absl::Duration kCheckInterval = absl::Minutes(10);

  // `membership` is what `folder` holds. Looks after it for as long as it lives.
  Enrolment(EventLoop* loop, Route* route, std::string folder, pki::Membership membership);
  ~Enrolment();

  // To be called when the coordinator has answered: remembers where, renews the certificate if it
  // is due, or if the coordinator shows an authority that is not known yet.
  void OnConnected(absl::Time now);
  // The same while the connection stays: whether the certificate is due, or a new authority is
  // shown to those who connect now. Done by itself every kCheckInterval.
  void Check(absl::Time now);
  // Gets a fresh key and certificate, saves them, and uses them for the connections that come. What
  // fails is logged, and tried again at the next connection or check.
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

#endif  // HPC_WORKER_LINK_ENROLMENT_H_
