#include "train/nccl/torch_cuda.h"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <unistd.h>

#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::train {
namespace {

// Loads CUDA. Returns "", or the reason why there is no CUDA in this process. Its libraries stay
// loaded.
std::string LoadCuda() {
  const std::string folder = TorchFolder();
  const std::string library = folder + "/libtorch_cuda.so";
  if (access(library.c_str(), F_OK) != 0) {
    return absl::StrCat("this LibTorch (", folder, ") is the one for CPUs");
  }
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return absl::StrCat("LibTorch's library for GPUs does not load: ", OneLine(dlerror()));
  }
  if (!at::detail::getCUDAHooks().hasCUDART()) {
    return "LibTorch was asked for CUDA before its library for it was loaded, and does not look "
           "again: call ChooseDevice or MakeCommunicator before manual_seed, modules and backward";
  }
  if (!at::hasCUDA()) return "LibTorch finds no GPU: none is there, or its driver is too old";
  return "";
}

const std::string& WhyNoCuda() {
  static const std::string why = LoadCuda();
  return why;
}

}  // namespace

std::string TorchFolder() {
  Dl_info info = {};
  // Any function of libtorch_cpu.so serves to find it.
  if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &info) == 0) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::optional<std::string> WhyNoGpu(at::Device device) {
  if (!WhyNoCuda().empty()) return WhyNoCuda();
  const int there = UsableGpus();
  if (device.index() < there) return std::nullopt;
  return absl::StrCat("this PC has ", Count(there, "GPU"), " that LibTorch can use, and no number ",
                      static_cast<int>(device.index()));
}

void CheckGpu(at::Device device) {
  if (const std::optional<std::string> why = WhyNoGpu(device)) {
    throw std::runtime_error(absl::StrCat(device.str(), " cannot be used: ", *why));
  }
}

int UsableGpus() { return WhyNoCuda().empty() ? at::accelerator::deviceCount() : 0; }

}  // namespace hpc::train
