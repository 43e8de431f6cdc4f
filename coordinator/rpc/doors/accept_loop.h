// Accepts connections, on a thread of its own, before gRPC sees them. It decides by who calls and
// how often, neither of which gRPC's server would tell.
#ifndef HPC_COORDINATOR_RPC_DOORS_ACCEPT_LOOP_H_
#define HPC_COORDINATOR_RPC_DOORS_ACCEPT_LOOP_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/process/bell.h"
#include "common/unique_fd.h"
#include "coordinator/rpc/doors/descriptors.h"
#include "coordinator/rpc/doors/guest_book.h"
#include "coordinator/trust/rate_limiter.h"

namespace hpc::coordinator {

// One door. The functions are called on the loop's thread.
struct Door {
  UniqueFd listener;   // non-blocking
  bool local = false;  // a Unix socket: nothing is judged here
  // Whether callers must open with a ClientHello of TLS 1.3.
  bool tls = false;
  // Called with a connection that was let in; it is non-blocking.
  std::function<void(int listener, UniqueFd connection)> on_connection;
  // Called with the address of a caller that was not let in, and why.
  std::function<void(const std::string& address, const std::string& reason)> on_refusal;
};

class AcceptLoop {
 public:
  // `guests` is told of every connection over TCP; the connections that it sends away are refused.
  AcceptLoop(const DescriptorPlan& plan, GuestBook* guests);
  ~AcceptLoop() { Stop(); }
  AcceptLoop(const AcceptLoop&) = delete;
  AcceptLoop& operator=(const AcceptLoop&) = delete;

  // Must be called before Start.
  void Add(Door door);
  void Start();
  // Closes the doors. When it returns, nothing is called any more.
  void Stop();

 private:
  // A caller that has not yet shown what it is.
  struct Caller {
    const Door* door;
    UniqueFd fd;
    std::string address, endpoint;
    MonoTime deadline;
  };

  void Run();
  void Accept(const Door& door);
  void Tell(const std::vector<GuestBook::Leave>& left, MonoTime now);
  // Whether the caller has been let in or sent away.
  bool Judge(Caller* caller, MonoTime now);
  // The caller is not let in. Closes its connection unless that is closed already.
  void SendAway(Caller* caller);
  int NextTimeout(MonoTime now) const;

  const DescriptorPlan plan_;
  GuestBook* const guests_;
  std::vector<Door> doors_;
  std::list<Caller> waiting_;
  RateLimiter connections_;  // per address
  RateLimiter refusals_;     // limits how many refusals are told, per address
  Bell stop_;
  std::thread thread_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_ACCEPT_LOOP_H_
