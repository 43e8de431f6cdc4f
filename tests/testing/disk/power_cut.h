// Lets any operation of a recording be the last one before the machine stops, and looks at what is
// left of the folder then.
#ifndef HPC_TESTS_TESTING_DISK_POWER_CUT_H_
#define HPC_TESTS_TESTING_DISK_POWER_CUT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/testing/disk/recorded_folder.h"

namespace hpc::testing {

struct PowerCut {
  size_t done = 0;  // operations
  Leftover left = Leftover::kAllThatWasDone;
  std::string folder;  // what is left, to be used as one likes
};

struct PowerCutOptions {
  int torn = 2;         // how many leftovers of kind kAnyPart at each operation
  size_t most = 10000;  // about so many are drawn where there are more; HPC_CUTS goes before it
  std::string parent;   // where folders are made; must exist
};

// Calls `check` for each cut, until a test assertion in it fails; that says which cut it was. What
// is drawn is drawn from HPC_SEED, 1 if it is not set. Returns how many cuts it looked at.
size_t ForEachPowerCut(const Recording& recording, const PowerCutOptions& options,
                       const std::function<void(const PowerCut&)>& check);

}  // namespace hpc::testing

#endif  // HPC_TESTS_TESTING_DISK_POWER_CUT_H_
