// Finds out which Python interpreter, if any, a command starts.
#ifndef HPC_WORKER_OS_PYTHON_PYTHON_INTERPRETER_H_
#define HPC_WORKER_OS_PYTHON_PYTHON_INTERPRETER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::worker {

// Pure. True for "python", "python3", "python3.11", "python3.13t". PyPy does not count, since it
// has no PyTorch.
bool IsPythonName(absl::string_view file_name);

// Pure. The interpreter that the first lines of a script name: a path, or a name to be found on
// PATH. For "/usr/bin/env" it is the command that env starts. "" if `head` is not the beginning of
// a script. Also understands the two-line form that pip writes if the path is too long for a "#!"
// line.
std::string ShebangInterpreter(absl::string_view head);

// The interpreter that executing `program` (a resolved path) starts. This is `program` if it is an
// interpreter or a link to one, and otherwise the interpreter that its "#!" line names. The path is
// not resolved further, since a virtual environment is found by the path of its link. "" if there
// is none.
std::string FindPythonInterpreter(const std::string& program, const std::vector<std::string>& env);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_PYTHON_PYTHON_INTERPRETER_H_
