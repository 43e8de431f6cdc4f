// What a supervisor keeps from one attempt to the next.
#ifndef HPC_WORKER_SUPERVISOR_WORKPLACE_H_
#define HPC_WORKER_SUPERVISOR_WORKPLACE_H_

#include <sys/resource.h>

#include <string>

#include "common/unique_fd.h"
#include "worker/supervisor/containment.h"
#include "worker/supervisor/os/poller.h"
#include "worker/supervisor/output/writer_thread.h"
#include "worker/supervisor/warm_parent.h"

namespace hpc::worker {

struct Workplace {
  // Its own end of the worker's socketpair, and the bound socket at which workers find it. While an
  // attempt is served, whoever serves it has them.
  UniqueFd worker, listener;

  Poller poller;
  WriterThread writer{&poller};
  Containment containment;
  WarmParent warm;  // behind the containment, which it uses
  UniqueFd signals, null;
  rlimit open_files{};           // as they were before we raised them
  bool reset_oom_score = false;  // for ranks

  // To be called once, before the first attempt. False: errno and *lacks say what is lacking.
  bool Furnish(std::string* lacks);
  // Removes all callbacks that an attempt has left.
  void Clear();
  // Whether SIGTERM ends the program, as it must while there is no attempt.
  void HeedTermination(bool heed) const;

 private:
  bool RaiseOpenFiles();
  bool furnished_ = false;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_WORKPLACE_H_
