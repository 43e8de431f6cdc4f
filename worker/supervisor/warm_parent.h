// A Python that has imported what the ranks of a program import, and makes ranks as copies of
// itself (worker/python/hpc_warm.py). It outlives attempts.
//
//   kNone --Start--> kImports --"ready"--> kReady --Launch--> kReady
//                       |  "cold ...", it ends, it does not answer in time   |
//     kNone <-----------+----------------------------------------------------+
#ifndef HPC_WORKER_SUPERVISOR_WARM_PARENT_H_
#define HPC_WORKER_SUPERVISOR_WARM_PARENT_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "worker/supervisor/containment.h"
#include "worker/supervisor/rank_launch.h"

namespace hpc::worker {

// What its program was started with, as far as copies cannot change that.
struct WarmKey {
  std::string program;
  std::string workdir;
  mode_t umask = 0;
  std::vector<std::string> words;  // of the interpreter and its program, without its arguments
  std::vector<std::string> env;    // sorted; without the variables that differ between ranks

  bool operator==(const WarmKey&) const = default;
};

// `words`: how many of the rank's argv are the interpreter's, with the script, module or text that
// it runs.
WarmKey WarmKeyOf(const LaunchPlan& plan, size_t words);

class WarmParent {
 public:
  WarmParent() = default;
  // Kills the process.
  ~WarmParent() { End(); }
  WarmParent(const WarmParent&) = delete;
  WarmParent& operator=(const WarmParent&) = delete;

  // Starts a process for ranks such as the plan's, in a cgroup that `containment`, which outlives
  // this object, makes for it, as the resident (descendants.h). They must be of a Python that has
  // run sitecustomize.py of ours: anything else would run its program here. Does not wait for the
  // process. One for such ranks goes on importing, one for other ranks ends. False: there is none,
  // or such a process has said before that it cannot be copied.
  bool Start(const LaunchPlan& plan, size_t words, Containment* containment);

  // Makes the rank of the plan, if the process is ready for it, and waits 200 ms at most for that.
  // The process that was made is a child of the caller, as LaunchRank's is, and has the plan's
  // leaf. nullopt: it must be started as any program is; reason() says why. A process that does not
  // do as it is told is killed.
  std::optional<LaunchedRank> Launch(const LaunchPlan& plan);
  // Why the last Launch made nothing, in words.
  const std::string& reason() const { return reason_; }

  // Kills the process, and all that it has started. Whoever reaps children reaps it.
  void End();

 private:
  bool MayCopy(const LaunchPlan& plan);
  bool HasEnded() const;
  // Hears whether the process is ready by now.
  bool HearReady();
  std::optional<std::string> Hear(int patience_ms);
  std::optional<LaunchedRank> Fail(const std::string& reason);

  WarmKey key_;
  Containment* containment_ = nullptr;
  int64_t pid_ = -1;
  UniqueFd process_;  // a pidfd, since the process may have been reaped; not ok: there is none
  UniqueFd socket_;
  int64_t started_ns_ = 0;  // CLOCK_BOOTTIME
  bool ready_ = false;
  bool refused_ = false;  // it has said that ranks of this key cannot be copies
  std::string reason_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_WARM_PARENT_H_
