// What a run asks for, in words.
#ifndef HPC_COORDINATOR_CORE_POLICY_REQUEST_WORDS_H_
#define HPC_COORDINATOR_CORE_POLICY_REQUEST_WORDS_H_

#include <string>

#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

// "4 nodes", "2 to 4 nodes".
std::string NodeCountWords(const RunRequest& request);

// "4 nodes with 2 GPUs each".
std::string NeedWords(const RunRequest& request);

// "4 nodes with 2 GPUs each, of pc1 and pc2".
std::string RequestWords(const RunRequest& request);

// What there is, to be said beside what the request needs: "only 2 nodes exist", "no node that it
// may use has at least 4 GPUs". `fitting` is how many nodes could hold it, which is fewer than it
// needs.
std::string ExistWords(const RunRequest& request, int32_t fitting);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_REQUEST_WORDS_H_
