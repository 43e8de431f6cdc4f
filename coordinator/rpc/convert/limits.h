// The most that a peer may send, and the errors for what is beyond it.
#ifndef HPC_COORDINATOR_RPC_CONVERT_LIMITS_H_
#define HPC_COORDINATOR_RPC_CONVERT_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

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

// Each error begins with `what`. InvalidArgument: the value is out of its range, or the text cannot
// be stored. ResourceExhausted: it is too long, or there are too many.
absl::Status CheckRange(absl::string_view what, int64_t value, int64_t least, int64_t most);
// Checks a time span in milliseconds, from 0 to `most`.
absl::Status CheckSpan(absl::string_view what, int64_t span, int64_t most);
absl::Status CheckLength(absl::string_view what, size_t bytes, size_t most);
absl::Status CheckShortText(absl::string_view what, const std::string& text, size_t most);
// Checks against kMaxPairs.
absl::Status CheckCount(absl::string_view what, int count);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CONVERT_LIMITS_H_
