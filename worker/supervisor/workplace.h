// What a supervisor keeps from one attempt to the next.
#ifndef HPC_WORKER_SUPERVISOR_WORKPLACE_H_
#define HPC_WORKER_SUPERVISOR_WORKPLACE_H_

#include <sys/resource.h>

#include <string>

#include "common/unique_fd.h"
#include "worker/supervisor/containment.h"
#include "worker/supervisor/os/poller.h"
#include "worker/supervisor/output/writer_thread.h"

namespace hpc::worker {

struct Workplace {
  // Its own end of the worker's socketpair, and where workers find it, bound. Whoever serves an
  // attempt has them meanwhile.
  UniqueFd worker, listener;

  Poller poller;
  WriterThread writer{&poller};
  Containment containment;
  UniqueFd signals, null;
  rlimit open_files{};           // as it was before we raised it
  bool reset_oom_score = false;  // of ranks

  // Once, before the first attempt. False: errno and *lacks say what is not to be had.
  bool Furnish(std::string* lacks);
  // Nothing that an attempt has left is called any more.
  void Clear();
  // While there is no attempt SIGTERM ends the program.
  void HeedTermination(bool heed) const;

 private:
  bool RaiseOpenFiles();
  bool furnished_ = false;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_WORKPLACE_H_
