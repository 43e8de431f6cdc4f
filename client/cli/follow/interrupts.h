// Ctrl-C and SIGTERM as calls instead of a sudden end.
#ifndef HPC_CLIENT_CLI_FOLLOW_INTERRUPTS_H_
#define HPC_CLIENT_CLI_FOLLOW_INTERRUPTS_H_

#include <functional>
#include <thread>

#include "common/process/bell.h"
#include "common/unique_fd.h"

namespace hpc::client {

// While it lives, SIGINT and SIGTERM reach `handle` instead of ending the process, on a thread of
// its own, with the number of signals so far and which this one is. Make it before any other
// thread: threads inherit that the signals are blocked. One that is ignored (by nohup, or a shell's
// background job) stays so. Where no descriptor is left for it, signals end the process as ever.
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
