// Turns Ctrl-C and SIGTERM into calls, so that they are no sudden end, nor is a SIGHUP behind them.
#ifndef HPC_CLIENT_CLI_FOLLOW_INTERRUPTS_H_
#define HPC_CLIENT_CLI_FOLLOW_INTERRUPTS_H_

#include <functional>
#include <thread>

#include "common/process/bell.h"
#include "common/unique_fd.h"

namespace hpc::client {

// While it lives, SIGINT and SIGTERM reach `handle` instead of ending the process, and so does a
// SIGHUP that follows one: a terminal may be closed by the same Ctrl-C. SIGHUP alone ends the
// process as usual. `handle` is called on a thread of its own, with the number of signals so far
// and with the signal. Make it before any other thread, because threads inherit that the signals
// are blocked. A signal that is ignored (by nohup, or a shell's background job) stays ignored.
// Where no descriptor is left for it, signals end the process as usual.
class Interrupts {
 public:
  explicit Interrupts(std::function<void(int count, int signal)> handle);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  void Watch(const std::function<void(int, int)>& handle);

  UniqueFd signals_;
  const Bell stop_;
  std::thread thread_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_INTERRUPTS_H_
