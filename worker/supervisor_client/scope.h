// Asks systemd for a transient scope around a supervisor. This is a cgroup of the attempt's own. It
// outlives the worker's unit, and `systemctl stop hpc.slice` ends it.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_SCOPE_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_SCOPE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "worker/loop/event_loop.h"

struct sd_bus;
struct sd_bus_message;

namespace hpc::worker {

class ScopeRequest {
 public:
  using OnAnswer = std::function<void(absl::Status)>;

  // Whether systemd runs here, and libsystemd can speak to it. The library is loaded at run time,
  // so that nothing depends on it.
  static bool Possible();

  // Calls StartTransientUnit for `pid` in hpc.slice: on the system's bus for root, and on the
  // user's own bus otherwise. Does not wait: `on_answer` is called on the loop. After a yes, the
  // cgroup of `pid` shows when systemd has done it. nullptr: no bus answers.
  static std::unique_ptr<ScopeRequest> Start(EventLoop* loop, int64_t pid, const std::string& unit,
                                             OnAnswer on_answer);
  // Stops waiting for the answer.
  ~ScopeRequest();
  ScopeRequest(const ScopeRequest&) = delete;
  ScopeRequest& operator=(const ScopeRequest&) = delete;

 private:
  ScopeRequest(EventLoop* loop, sd_bus* bus, OnAnswer on_answer);
  int Call(int64_t pid, const std::string& unit);
  static int OnReply(sd_bus_message* reply, void* self, void* unused_error);
  // Reads and writes what the bus is ready for.
  void Process();
  void Close();

  EventLoop* loop_;
  sd_bus* bus_;
  OnAnswer on_answer_;
  std::optional<absl::Status> answer_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_SCOPE_H_
