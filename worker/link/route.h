// The way to the coordinator: which of its addresses is dialled next, and with which identity.
// Pure.
#ifndef HPC_WORKER_LINK_ROUTE_H_
#define HPC_WORKER_LINK_ROUTE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/net/endpoint.h"
#include "member/http2/security.h"

namespace hpc::worker {

class Route {
 public:
  // `addresses` has at least one address; the likeliest is first.
  Route(std::vector<Endpoint> addresses, member::Security security);

  const Endpoint& next() const { return addresses_[next_]; }
  const member::Security& security() const { return security_; }
  // Sets the security of new connections.
  void set_security(member::Security security) { security_ = std::move(security); }

  // Called when a connection has ended. If the coordinator had answered on it, the same address is
  // tried again; otherwise the next one is. Returns the reason to show: with several addresses, it
  // tells what was last found at each.
  absl::Status OnClosed(const absl::Status& why);
  // The coordinator has answered. From now on its address is the first.
  void OnAnswered();
  const std::vector<Endpoint>& addresses() const { return addresses_; }

  // The certificates that the coordinator showed when it last answered, in PEM; "" without TLS.
  const std::string& shown() const { return shown_; }
  void set_shown(std::string pem) { shown_ = std::move(pem); }

 private:
  std::vector<Endpoint> addresses_;
  std::vector<std::string> problems_;  // one for each address; "": none known
  size_t next_ = 0;
  bool answered_ = false;
  member::Security security_;
  std::string shown_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_ROUTE_H_
