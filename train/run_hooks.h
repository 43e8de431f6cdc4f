// The things that hpcctl gives a rank and takes from it: a request to stop, metrics, a folder for
// checkpoints. None is needed, and a program that runs alone has none of them.
#ifndef HPC_TRAIN_RUN_HOOKS_H_
#define HPC_TRAIN_RUN_HOOKS_H_

#include <signal.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/unique_fd.h"
#include "train/net/launch_environment.h"

namespace hpc::train {

struct RunHooks {
  std::string metrics_file;    // HPC_METRICS_FILE; empty: none
  std::string checkpoint_dir;  // HPC_CHECKPOINT_DIR; empty: none
  std::string params_file;     // HPC_PARAMS_FILE; empty: the run has no parameters
  std::string run;             // HPC_RUN_ID; empty: not a run of hpcctl's
};
RunHooks ReadRunHooks(const GetVariable& get);
RunHooks ReadRunHooks();  // reads the environment of this process

// Appends lines to the metrics file of this rank, as hpc.log() of worker/python/hpc.py does. A line
// that cannot be written is dropped, since a metric is no reason to end a training. Thread-safe.
class Metrics {
 public:
  explicit Metrics(const std::string& path);  // empty: nothing is written

  // Logs values for this moment, and for this step if there is one. "time" and "step" are not
  // allowed as keys, and are left out. NaN and infinities are values.
  void Log(std::optional<int64_t> step,
           const std::vector<std::pair<std::string, double>>& values) const;

  // Says that a checkpoint is whole: a restart now would lose nothing.
  void CheckpointSaved(int64_t step) const;

  // If not empty, says why the last line, or the file, could not be written. Training goes on.
  const std::string& warning() const { return warning_; }

 private:
  void Warn() const;  // says what errno says

  const std::string path_;
  UniqueFd file_;
  mutable std::string warning_;
};

// Returns the line that Log writes: {"time": 12.5, "loss": 0.25, "step": 10}. Pure.
std::string MetricLine(double time, std::optional<int64_t> step,
                       const std::vector<std::pair<std::string, double>>& values);

// While it lives, SIGTERM and SIGINT are requests to stop, and the second signal of one kind ends
// the process. A process may have only one of these.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool requested() const;

 private:
  struct sigaction before_term_ {
  }, before_int_{};
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_RUN_HOOKS_H_
