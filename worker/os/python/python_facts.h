// What python_facts.py says about the interpreter that runs it.
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
  // If one of these files or folders changes, the facts are out of date.
  std::vector<std::string> watched;
};

// Pure. Lines that the script did not write (warnings, output of a sitecustomize) are skipped.
PythonAnswer ParsePythonAnswer(absl::string_view output);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_PYTHON_PYTHON_FACTS_H_
