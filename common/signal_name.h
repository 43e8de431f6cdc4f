// The names of signals.
#ifndef HPC_COMMON_SIGNAL_NAME_H_
#define HPC_COMMON_SIGNAL_NAME_H_

#include <cstdint>
#include <string>

namespace hpc {

// Returns "SIGKILL", or "signal 42" for a signal without a well-known name.
std::string SignalName(int32_t signal);

}  // namespace hpc

#endif  // HPC_COMMON_SIGNAL_NAME_H_
