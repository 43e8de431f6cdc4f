// Which Python interpreter, if any, a command starts.
#ifndef HPC_WORKER_OS_PYTHON_PYTHON_INTERPRETER_H_
#define HPC_WORKER_OS_PYTHON_PYTHON_INTERPRETER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::worker {

// Pure: "python", "python3", "python3.11", "python3.13t". PyPy is not meant: it has no PyTorch.
bool IsPythonName(absl::string_view file_name);

// Pure: what the first lines of a script name as its interpreter, "/usr/bin/env" looked through: a
// path, or a name to be found on PATH. "" if `head` is no script's. Understands the two-line form
// that pip writes where the path is too long for a "#!" line.
std::string ShebangInterpreter(absl::string_view head);

// The interpreter that executing `program` (a resolved path) starts: itself if it is one or a link
// to one, else the one that its "#!" line names. The path is not resolved further, since a virtual
// environment is found by the path of its link. "" if there is none.
std::string FindPythonInterpreter(const std::string& program, const std::vector<std::string>& env);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_PYTHON_PYTHON_INTERPRETER_H_
