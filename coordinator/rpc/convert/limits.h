// The most that a peer may send.
#ifndef HPC_COORDINATOR_RPC_CONVERT_LIMITS_H_
#define HPC_COORDINATOR_RPC_CONVERT_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace hpc::coordinator {

inline constexpr int kMaxMessage = 16 << 20;          // any message that is received
inline constexpr int kMaxStreams = 2000;              // calls of one connection at a time
inline constexpr size_t kMaxCommand = 10'000'000;     // program and arguments in all
inline constexpr size_t kMaxEnvironment = 2'000'000;  // names and values in all
inline constexpr size_t kMaxName = 200;               // run, experiment, tag, key
inline constexpr size_t kMaxValue = 64 << 10;         // a parameter's or a fact's
inline constexpr size_t kMaxPath = 4096;
inline constexpr size_t kMaxDiff = 1 << 20;
inline constexpr size_t kMaxReason = 4096;        // words of a person or a worker
inline constexpr size_t kMaxExitText = 64 << 10;  // message or traceback of a rank
inline constexpr size_t kMaxRequestId = 64;
inline constexpr size_t kMaxLogData = 256 << 10;  // in one message of a worker
inline constexpr int kMaxPairs = 10'000;          // parameters, tags, variables, nodes named
inline constexpr int kMaxWaitedRuns = 10'000;     // by one call
inline constexpr int32_t kMaxNodes = 100'000;     // the most a run can ask for
inline constexpr int32_t kMaxPriority = 1000;     // and -1000

inline constexpr int64_t kRowsPerMessage = 1000;        // of a listing
inline constexpr int64_t kBytesPerMessage = 1 << 20;    // after which a listing's message is full
inline constexpr size_t kUnansweredSubmissions = 1024;  // of a stream that is still read

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CONVERT_LIMITS_H_
