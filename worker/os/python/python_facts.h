// What python_facts.py, run by an interpreter, says about it.
#ifndef HPC_WORKER_OS_PYTHON_PYTHON_FACTS_H_
#define HPC_WORKER_OS_PYTHON_PYTHON_FACTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "worker/os/seams.h"

namespace hpc::worker {

// The text of python_facts.py, for `python -c`.
extern const char kPythonFactsScript[];

struct PythonAnswer {
  PythonFacts facts;
  // Files and folders whose change makes the facts stale.
  std::vector<std::string> watched;
};

// Pure. Lines that are not the script's (warnings, what a sitecustomize prints) are skipped.
PythonAnswer ParsePythonAnswer(absl::string_view output);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_PYTHON_PYTHON_FACTS_H_
