// ResNet-18 and ResNet-50 (He et al., 2015), as they are made for pictures of CIFAR's size.
#ifndef HPC_TRAIN_TOOL_RESNET_H_
#define HPC_TRAIN_TOOL_RESNET_H_

#include <memory>

#include "train/tool/model.h"

namespace hpc::train {

// `layers` is 18 or 50. The first layer keeps the size of pictures, which may be any from 8 points
// on; three of the four stages halve it. [batch, channels, height, width] -> [batch, classes].
std::unique_ptr<Model> MakeResnet(int layers, int64_t channels, int64_t classes);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TOOL_RESNET_H_
