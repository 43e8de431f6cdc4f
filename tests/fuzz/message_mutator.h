// Changes messages field by field, so that a fuzzer gets past their parsing.
#ifndef HPC_TESTS_FUZZ_MESSAGE_MUTATOR_H_
#define HPC_TESTS_FUZZ_MESSAGE_MUTATOR_H_

#include <google/protobuf/message.h>

#include <random>

namespace hpc::testing {

// Sets, changes, adds or removes one field, at any depth.
void MutateMessage(google::protobuf::Message* message, std::mt19937* random);

}  // namespace hpc::testing

#endif  // HPC_TESTS_FUZZ_MESSAGE_MUTATOR_H_
