// What signals are called.
#ifndef HPC_COMMON_SIGNAL_NAME_H_
#define HPC_COMMON_SIGNAL_NAME_H_

#include <cstdint>
#include <string>

namespace hpc {

// "SIGKILL", or "signal 42" where it has no name that everybody knows.
std::string SignalName(int32_t signal);

}  // namespace hpc

#endif  // HPC_COMMON_SIGNAL_NAME_H_
