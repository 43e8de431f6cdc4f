// What of a command is its Python and what it runs. Without Abseil, as the supervisor is.
#ifndef HPC_WORKER_SUPERVISOR_PROTOCOL_PYTHON_WORDS_H_
#define HPC_WORKER_SUPERVISOR_PROTOCOL_PYTHON_WORDS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace hpc::worker {

// How many words of argv are the interpreter's own with the script, module or text that it runs: of
// "python -u train.py --lr 1" three, of "python -m pkg.train" three. 0: it runs none of these, or
// has an option by which it would not run our sitecustomize.py, or one that is not known here.
size_t WordsOfPython(const std::vector<std::string>& argv);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_PROTOCOL_PYTHON_WORDS_H_
