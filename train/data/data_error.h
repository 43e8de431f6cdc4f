// The error that a file of data is not usable.
#ifndef HPC_TRAIN_DATA_DATA_ERROR_H_
#define HPC_TRAIN_DATA_DATA_ERROR_H_

#include <stdexcept>

namespace hpc::train {

// what() is one line that begins with the file's name, and says what was found and what was asked
// for.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_DATA_ERROR_H_
