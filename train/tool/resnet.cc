#include "train/tool/resnet.h"

#include <ATen/ATen.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

namespace hpc::train {
namespace {

namespace nn = torch::nn;

nn::Conv2d Convolution(int64_t in, int64_t out, int64_t size, int64_t stride) {
  nn::Conv2d layer(nn::Conv2dOptions(in, out, size).stride(stride).padding(size / 2).bias(false));
  nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
  return layer;
}

// Two convolutions of 3 x 3. With `wide` > 1 it is one of 3 x 3 between two of 1 x 1. The input is
// added to the result.
struct ResidualImpl : nn::Module {
  ResidualImpl(int64_t in, int64_t inner, int64_t stride, int64_t wide) {
    const int64_t out = inner * wide;
    if (wide == 1) {
      Add(in, inner, 3, stride);
      Add(inner, out, 3, 1);
    } else {
      Add(in, inner, 1, 1);
      Add(inner, inner, 3, stride);
      Add(inner, out, 1, 1);
    }
    if (stride == 1 && in == out) return;
    shortcut = register_module(
        "shortcut", nn::Sequential(Convolution(in, out, 1, stride), nn::BatchNorm2d(out)));
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor h = x;
    for (size_t i = 0; i < convolutions.size(); ++i) {
      h = norms[i](convolutions[i](h));
      if (i + 1 < convolutions.size()) h = at::relu(h);
    }
    return at::relu(h + (shortcut ? shortcut->forward(x) : x));
  }

  void Add(int64_t in, int64_t out, int64_t size, int64_t stride) {
    const std::string number = std::to_string(convolutions.size() + 1);
    convolutions.push_back(register_module("conv" + number, Convolution(in, out, size, stride)));
    norms.push_back(register_module("norm" + number, nn::BatchNorm2d(out)));
  }

  std::vector<nn::Conv2d> convolutions;
  std::vector<nn::BatchNorm2d> norms;
  nn::Sequential shortcut{nullptr};
};
TORCH_MODULE(Residual);

struct ResnetImpl : nn::Module {
  ResnetImpl(int layers, int64_t channels, int64_t classes) {
    const int64_t wide = layers == 50 ? 4 : 1;
    first = register_module("first", Convolution(channels, 64, 3, 1));
    norm = register_module("norm", nn::BatchNorm2d(64));
    blocks = register_module("blocks", nn::Sequential());
    const int64_t counts[2][4] = {{2, 2, 2, 2}, {3, 4, 6, 3}};
    int64_t in = 64;
    for (int stage = 0; stage < 4; ++stage) {
      const int64_t inner = 64 << stage;
      for (int64_t i = 0; i < counts[layers == 50 ? 1 : 0][stage]; ++i) {
        blocks->push_back(Residual(in, inner, stage > 0 && i == 0 ? 2 : 1, wide));
        in = inner * wide;
      }
    }
    head = register_module("head", nn::Linear(in, classes));
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor h = blocks->forward(at::relu(norm(first(x))));
    return head(h.mean({2, 3}));
  }

  nn::Conv2d first{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Sequential blocks{nullptr};
  nn::Linear head{nullptr};
};
TORCH_MODULE(Resnet);

}  // namespace

std::unique_ptr<Model> MakeResnet(int layers, int64_t channels, int64_t classes) {
  return MakeModuleModel(Resnet(layers, channels, classes));
}

}  // namespace hpc::train
