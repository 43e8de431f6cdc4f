#include "coordinator/rpc/convert/convert_common.h"

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "common/text.h"

namespace hpc::coordinator {

int64_t ToMicros(absl::Time time) {
  if (time == absl::InfinitePast() || time == absl::InfiniteFuture()) return 0;
  return absl::ToUnixMicros(time);
}

absl::Duration FromMillis(int64_t ms) { return absl::Milliseconds(std::max<int64_t>(ms, 0)); }
absl::Duration FromMicros(int64_t us) { return absl::Microseconds(std::max<int64_t>(us, 0)); }

Pairs FromProto(const google::protobuf::RepeatedPtrField<v1::KeyValue>& pairs) {
  Pairs out;
  out.reserve(static_cast<size_t>(pairs.size()));
  for (const v1::KeyValue& pair : pairs) out.emplace_back(pair.key(), pair.value());
  return out;
}

void AddPairs(const Pairs& pairs, google::protobuf::RepeatedPtrField<v1::KeyValue>* out) {
  for (const auto& [key, value] : pairs) {
    v1::KeyValue* pair = out->Add();
    pair->set_key(key);
    pair->set_value(value);
  }
}

AttemptRef FromProto(const v1::AttemptRef& ref) { return {ref.run(), ref.number()}; }

v1::AttemptRef ToProto(AttemptRef ref) {
  v1::AttemptRef out;
  out.set_run(ref.run);
  out.set_number(ref.number);
  return out;
}

std::string CleanText(absl::string_view text, size_t max_bytes) {
  const std::string clean = absl::StrReplaceAll(text.substr(0, max_bytes),
                                                {{absl::string_view("\0", 1), "\xEF\xBF\xBD"}});
  return ToValidUtf8(clean);  // a cut may have split a character
}

}  // namespace hpc::coordinator
