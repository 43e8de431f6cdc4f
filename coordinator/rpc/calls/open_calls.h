// The calls that may last for ever: who makes them, and how many one caller may have.
#ifndef HPC_COORDINATOR_RPC_CALLS_OPEN_CALLS_H_
#define HPC_COORDINATOR_RPC_CALLS_OPEN_CALLS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "coordinator/rpc/doors/caller.h"

namespace hpc::coordinator {

class OpenCall {
 public:
  virtual ~OpenCall() = default;
  // Asks the call to end. It may remove itself at once.
  virtual void Stop(const absl::Status& reason) = 0;
};

class OpenCalls {
 public:
  // `per_identity`: how many calls a user, or a worker, may have open.
  explicit OpenCalls(int per_identity = 1000) : per_identity_(per_identity) {}

  // Adds a call whose caller is not known yet.
  void Add(OpenCall* call) { calls_[call]; }
  // Sets who makes the call. ResourceExhausted: the caller has as many calls as one may have; this
  // one still belongs to nobody. Callers without a name are not counted.
  absl::Status SetCaller(OpenCall* call, const Caller& caller);
  void Remove(OpenCall* call);
  bool empty() const { return calls_.empty(); }

  void StopAll(const absl::Status& reason);
  // Stops the calls that were made with one of these certificates, by serial.
  void StopOf(const std::vector<std::string>& serials, const absl::Status& reason);

 private:
  struct Owner {
    std::string identity;  // "" while unknown
    std::string certificate;
  };

  void StopThose(const std::function<bool(const Owner&)>& which, const absl::Status& reason);

  const int per_identity_;
  std::map<OpenCall*, Owner> calls_;
  absl::flat_hash_map<std::string, int> counts_;  // by identity
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_OPEN_CALLS_H_
