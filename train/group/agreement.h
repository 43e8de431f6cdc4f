// That all ranks mean the same: found before the first step, and named, instead of a hang or a
// wrong model after it.
#ifndef HPC_TRAIN_GROUP_AGREEMENT_H_
#define HPC_TRAIN_GROUP_AGREEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "train/group/communicator.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// One line each: "parameter 'fc.weight' float[10, 64]".
std::vector<std::string> DescribeTensors(const std::string& what,
                                         const std::vector<NamedTensor>& tensors);

// Compares what ranks say of themselves, line by line, with rank 0. None if all are the same, else
// the first difference of the first rank that differs: "rank 2 differs from rank 0: it has
// parameter 'fc.weight' float[10, 32] where rank 0 has parameter 'fc.weight' float[10, 64]". Ranks
// are named by `numbers`, where there are any.
std::optional<std::string> FirstDifference(const std::vector<std::vector<std::string>>& ranks,
                                           const std::vector<int>& numbers = {});

// Throws std::invalid_argument with FirstDifference, on all ranks, unless all have the same lines.
// Sends 16 bytes if they have, all lines if not. Lines contain no newline.
void CheckSameOnAllRanks(Communicator& group, const std::vector<std::string>& lines);

// What every rank has to say, by rank: any bytes, of any length.
std::vector<std::string> GatherTexts(Communicator& group, const std::string& mine);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_AGREEMENT_H_
