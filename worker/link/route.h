// The way to the coordinator: which of its addresses is dialled next, and as whom. Pure.
#ifndef HPC_WORKER_LINK_ROUTE_H_
#define HPC_WORKER_LINK_ROUTE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/net/endpoint.h"
#include "member/wire/security.h"

namespace hpc::worker {

class Route {
 public:
  // At least one address, the likeliest first.
  Route(std::vector<Endpoint> addresses, member::Security security);

  const Endpoint& next() const { return addresses_[next_]; }
  const member::Security& security() const { return security_; }
  // For the connections that come.
  void set_security(member::Security security) { security_ = std::move(security); }

  // A try came to nothing: the next address is to be tried. Or a connection ended on which the
  // coordinator had answered: the same one is to be tried again. The reason to show: where there
  // are several addresses, what was last found at each.
  absl::Status OnClosed(const absl::Status& why);
  // The coordinator is there: its address is the first from now on.
  void OnAnswered();
  const std::vector<Endpoint>& addresses() const { return addresses_; }

  // The certificates that the coordinator showed when it last answered, in PEM; "" without TLS.
  const std::string& shown() const { return shown_; }
  void set_shown(std::string pem) { shown_ = std::move(pem); }

 private:
  std::vector<Endpoint> addresses_;
  std::vector<std::string> problems_;  // of each address; "": none known
  size_t next_ = 0;
  bool answered_ = false;
  member::Security security_;
  std::string shown_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_ROUTE_H_
