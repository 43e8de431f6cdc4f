#include "client/cli/forms/times.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr int64_t kSecond = 1'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute,
                  kDay = 24 * kHour;

std::string Rounded(int64_t us) {
  if (us < kMinute) return absl::StrCat(us / kSecond, " s");
  if (us < kHour) return absl::StrCat(us / kMinute, " min");
  if (us < 2 * kDay) return absl::StrCat(us / kHour, " h");
  return absl::StrCat(us / kDay, " d");
}

}  // namespace

std::string Ago(int64_t us, int64_t now_us) {
  if (us == 0) return "-";
  const int64_t age = now_us - us;
  if (age > 7 * kDay || age < -7 * kDay) return LocalTime(us);
  if (age <= -kSecond) return absl::StrCat("in ", Rounded(-age));
  if (age < kSecond) return "just now";
  return absl::StrCat(Rounded(age), " ago");
}

std::string LocalTime(int64_t us) { return us == 0 ? "-" : HumanTime(absl::FromUnixMicros(us)); }

std::string UtcTime(int64_t us) {
  if (us == 0) return "-";
  // The text is put together by hand. absl::FormatTime takes ten times as long, which shows in a
  // listing of 10,000 rows.
  const absl::Time time = absl::FromUnixMicros(us);
  const absl::CivilSecond civil = absl::UTCTimeZone().At(time).cs;
  const int64_t micros = (us % kSecond + kSecond) % kSecond;
  std::string text = "0000-00-00T00:00:00.000000Z";
  const auto put = [&text](size_t end, int64_t value) {
    for (; value > 0; value /= 10) text[--end] = static_cast<char>('0' + value % 10);
  };
  put(4, std::clamp<int64_t>(civil.year(), 0, 9999));
  put(7, civil.month());
  put(10, civil.day());
  put(13, civil.hour());
  put(16, civil.minute());
  put(19, civil.second());
  put(26, micros);
  return text;
}

std::string Took(int64_t start_us, int64_t end_us, int64_t now_us) {
  if (start_us == 0) return "-";
  const int64_t end = end_us == 0 ? now_us : end_us;
  return HumanDuration(absl::Microseconds(std::max<int64_t>(0, end - start_us)));
}

}  // namespace hpc::client
