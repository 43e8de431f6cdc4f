// What the fake NVML says, read from the text file that $FAKE_NVML_STATE names, anew at each call.
//
//   driver 550.54.14          one setting a line; what is not set is "not supported"
//   init_error 9              nvmlInit answers this code
//   device                    begins a device, in NVML's order
//   pci 00000000:41:00.0
//   uuid GPU-41
//   name NVIDIA GeForce RTX 3090
//   memory 25769803776 1048576        total, used
//   utilization 37
//   power 220000              milliwatts
//   energy 81000000           millijoules
//   compute 4711 2147483648   pid, bytes ("-": not available)
//   graphics 4712 -
//   error uuid 15             the call about this device answers this code
//   hang utilization          the call about this device returns once this line has gone
#ifndef HPC_TESTS_TESTING_FAKE_NVML_FAKE_NVML_STATE_H_
#define HPC_TESTS_TESTING_FAKE_NVML_FAKE_NVML_STATE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "worker/os/devices/nvml_abi.h"

namespace hpc::testing {

struct FakeGpu {
  std::map<std::string, std::string> values;  // "uuid", "memory" ...
  std::vector<nvmlProcessInfo_t> compute, graphics;
  std::map<std::string, nvmlReturn_t> errors;  // by the name of what is asked
  std::set<std::string> hangs;
};

struct FakeNvmlState {
  std::string driver;
  nvmlReturn_t init_error = 0;
  std::vector<FakeGpu> gpus;
};

// nullopt: the variable or the file is missing. This is as if no driver were loaded.
std::optional<FakeNvmlState> ReadFakeNvmlState();

}  // namespace hpc::testing

#endif  // HPC_TESTS_TESTING_FAKE_NVML_FAKE_NVML_STATE_H_
