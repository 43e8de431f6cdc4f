// Converts times, durations and pairs between the wire and plain values.
#ifndef HPC_COORDINATOR_RPC_CONVERT_CONVERT_COMMON_H_
#define HPC_COORDINATOR_RPC_CONVERT_CONVERT_COMMON_H_

#include <google/protobuf/repeated_field.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "hpc/v1/run.pb.h"
#include "hpc/v1/worker.pb.h"

namespace hpc::coordinator {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Microseconds since 1970. The two infinities, which mean "has not happened" and "never", become 0.
int64_t ToMicros(absl::Time time);
// Negative durations, which only a broken peer sends, become zero.
absl::Duration FromMillis(int64_t ms);
absl::Duration FromMicros(int64_t us);

Pairs FromProto(const google::protobuf::RepeatedPtrField<v1::KeyValue>& pairs);
void AddPairs(const Pairs& pairs, google::protobuf::RepeatedPtrField<v1::KeyValue>* out);

inline std::vector<std::string> FromProto(
    const google::protobuf::RepeatedPtrField<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

AttemptRef FromProto(const v1::AttemptRef& ref);
v1::AttemptRef ToProto(AttemptRef ref);

// Text from a worker, in a form that may be stored and shown. NUL, which UTF-8 allows but no later
// reader expects, becomes U+FFFD. Text longer than `max_bytes` is cut.
std::string CleanText(absl::string_view text, size_t max_bytes);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CONVERT_CONVERT_COMMON_H_
