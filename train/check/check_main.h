// The command hpc-train check.
#ifndef HPC_TRAIN_CHECK_CHECK_MAIN_H_
#define HPC_TRAIN_CHECK_CHECK_MAIN_H_

#include <string>
#include <vector>

namespace hpc::train {

// `arguments` are those after "check". Rank 0 prints what was found. The exit code is the same on
// all ranks. 0: nothing is wrong. 1: something is wrong, or it could not be found out; stderr says
// why. 2: the command line was not understood.
int CheckMain(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_CHECK_MAIN_H_
