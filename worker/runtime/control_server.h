// The owner's way to the worker on this PC: <state-dir>/worker.sock, one JSON object per line in
// each direction. Works whether or not the coordinator can be reached.
//
//   {"command": "status"}                                     -> {"ok": true, "node": "pc1", ...}
//   {"command": "reclaim", "for_ms": 7200000, "reason": "x", "grace_ms": 10000}
//                           answered once the PC is free      -> {"ok": true, "took_ms": 1234,
//                                                                 "saved": true, ...}
//   {"command": "lend"}                                       -> {"ok": true, "saved": true, ...}
//       "saved": false: the disk has not taken the wish, and a restarted worker would not know it
//   anything else                                             -> {"ok": false, "error": "..."}
#ifndef HPC_WORKER_RUNTIME_CONTROL_SERVER_H_
#define HPC_WORKER_RUNTIME_CONTROL_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/loop/event_loop.h"
#include "worker/runtime/engine.h"

namespace hpc::worker {

class ControlServer {
 public:
  // Whoever may open the state directory may give commands.
  static absl::StatusOr<std::unique_ptr<ControlServer>> Listen(EventLoop* loop,
                                                               const std::string& state_dir,
                                                               Engine* engine);
  virtual ~ControlServer() = default;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_CONTROL_SERVER_H_
