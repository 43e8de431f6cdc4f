// Makes sure before the first step that all ranks mean the same. A difference is named then,
// instead of causing a hang or a wrong model later.
#ifndef HPC_TRAIN_GROUP_AGREEMENT_H_
#define HPC_TRAIN_GROUP_AGREEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "train/group/communicator.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// Returns one line for each tensor: "parameter 'fc.weight' float[10, 64]".
std::vector<std::string> DescribeTensors(const std::string& what,
                                         const std::vector<NamedTensor>& tensors);

// Compares what ranks say about themselves, line by line, with rank 0. Returns none if all say the
// same, else the first difference of the first rank that differs: "rank 2 differs from rank 0: it
// has parameter 'fc.weight' float[10, 32] where rank 0 has parameter 'fc.weight' float[10, 64]".
// Ranks are named by `numbers`, if there are any.
std::optional<std::string> FirstDifference(const std::vector<std::vector<std::string>>& ranks,
                                           const std::vector<int>& numbers = {});

// Throws std::invalid_argument with FirstDifference, on all ranks, unless all have the same lines.
// It sends 16 bytes if they are the same, and all lines if not. Lines must not contain a newline.
void CheckSameOnAllRanks(Communicator& group, const std::vector<std::string>& lines);

// Returns the text of every rank, by rank. A text may have any bytes and any length.
std::vector<std::string> GatherTexts(Communicator& group, const std::string& mine);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_AGREEMENT_H_
