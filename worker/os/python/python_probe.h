// Finds out what a run's Python interpreter has installed.
#ifndef HPC_WORKER_OS_PYTHON_PYTHON_PROBE_H_
#define HPC_WORKER_OS_PYTHON_PYTHON_PROBE_H_

#include <memory>

#include "absl/time/time.h"
#include "worker/os/seams.h"

namespace hpc::worker {

// Runs a short script in the interpreter. The script looks at installed metadata and imports no
// PyTorch. An answer is kept in memory until the interpreter, its site folders or its torch change,
// or until it is asked with other values of the variables that Python listens to. Failures are not
// kept.
//
// Errors of Probe: DeadlineExceeded: it took longer than `limit`. FailedPrecondition: the
// interpreter failed (says how, and its last words). Other errors are those of RunCommand. May be
// called from any thread.
std::unique_ptr<PythonProbe> MakePythonProbe(absl::Duration limit = absl::Seconds(5));

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_PYTHON_PYTHON_PROBE_H_
