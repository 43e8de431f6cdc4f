// What has to happen to those who are connected when trust changes. There is no gRPC in here, so
// that handlers need none.
#ifndef HPC_COORDINATOR_RPC_HANDLERS_GATE_H_
#define HPC_COORDINATOR_RPC_HANDLERS_GATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hpc::coordinator {

class Gate {
 public:
  virtual ~Gate() = default;
  // Ends the calls that were made with one of these certificates, by serial.
  virtual void EndCallsOf(const std::vector<std::string>& serials, const absl::Status& reason) = 0;
  // There is another authority. New connections are shown a certificate that it signed, and
  // whatever was verified before does not count any more.
  virtual absl::Status ChangeAuthority() = 0;
  // Writes the event of a refusal. For callers of one address this happens a few times a minute at
  // most.
  virtual void NoteRefusal(const std::string& peer, const std::string& what) = 0;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_HANDLERS_GATE_H_
