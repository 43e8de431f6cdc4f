// What a run asks for, in words.
#ifndef HPC_COORDINATOR_CORE_REQUEST_WORDS_H_
#define HPC_COORDINATOR_CORE_REQUEST_WORDS_H_

#include <string>

#include "coordinator/core/model.h"

namespace hpc::coordinator {

// "4 nodes", "2 to 4 nodes".
std::string NodeCountWords(const RunRequest& request);

// "4 nodes with 2 GPUs each".
std::string NeedWords(const RunRequest& request);

// "4 nodes with 2 GPUs each, of pc1 and pc2".
std::string RequestWords(const RunRequest& request);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_REQUEST_WORDS_H_
