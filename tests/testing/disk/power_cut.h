// Makes any operation of a recording the last one before the machine stops, and looks at what is
// left of the folder.
#ifndef HPC_TESTS_TESTING_DISK_POWER_CUT_H_
#define HPC_TESTS_TESTING_DISK_POWER_CUT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/testing/disk/recorded_folder.h"

namespace hpc::testing {

struct PowerCut {
  size_t done = 0;  // number of operations done
  Leftover left = Leftover::kAllThatWasDone;
  std::string folder;  // what is left; may be changed
};

struct PowerCutOptions {
  int torn = 2;         // number of leftovers of kind kAnyPart at each operation
  size_t most = 10000;  // about so many cuts are drawn if there are more; or HPC_CUTS
  std::string parent;   // where folders are made; must exist
};

// Calls `check` for each cut, until a test assertion in it fails. The failure says which cut it
// was. Random choices come from HPC_SEED (1 if it is not set). Returns the number of cuts that were
// checked.
size_t ForEachPowerCut(const Recording& recording, const PowerCutOptions& options,
                       const std::function<void(const PowerCut&)>& check);

}  // namespace hpc::testing

#endif  // HPC_TESTS_TESTING_DISK_POWER_CUT_H_
