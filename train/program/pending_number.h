// A number on its way to the host.
#ifndef HPC_TRAIN_PROGRAM_PENDING_NUMBER_H_
#define HPC_TRAIN_PROGRAM_PENDING_NUMBER_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <optional>

namespace hpc::train {

// Reads a tensor of one element, on any device, as it is when this is made: the copy is queued
// after what is queued by then. On a GPU, Value does not wait for what is queued later, so that
// more can be queued before the number is looked at.
class PendingNumber {
 public:
  explicit PendingNumber(const at::Tensor& tensor);

  double Value() const;

 private:
  at::Tensor here_;  // on the host, once it has arrived
  std::optional<c10::Event> come_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_PENDING_NUMBER_H_
