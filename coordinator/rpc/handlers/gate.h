// What follows for those who are connected when it changes who is trusted. No gRPC in here, so that
// handlers need none.
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
  // There is another authority: the next connection is shown a certificate of it, and nothing that
  // was found good before counts any more.
  virtual absl::Status ChangeAuthority() = 0;
  // Writes the event of a refusal; the callers of one address are told of a few times a minute.
  virtual void NoteRefusal(const std::string& peer, const std::string& what) = 0;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_HANDLERS_GATE_H_
