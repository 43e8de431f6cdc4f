// A number on its way to the host.
#ifndef HPC_TRAIN_PROGRAM_PENDING_NUMBER_H_
#define HPC_TRAIN_PROGRAM_PENDING_NUMBER_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <optional>

namespace hpc::train {

// Of a tensor of one element, on any device, as of when it is made: it is copied behind what is
// queued by then. Where that is on a GPU, Value waits for nothing that is queued later, so that
// more can be queued before it is looked at.
class PendingNumber {
 public:
  explicit PendingNumber(const at::Tensor& tensor);

  double Value() const;

 private:
  at::Tensor here_;  // on the host, once it has come
  std::optional<c10::Event> come_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_PENDING_NUMBER_H_
