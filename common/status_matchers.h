// GoogleTest matchers for absl::Status and absl::StatusOr, shaped like
// absl/status/status_matchers.h. Tests only.
#ifndef HPC_COMMON_STATUS_MATCHERS_H_
#define HPC_COMMON_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hpc::testing {

inline const absl::Status& GetStatus(const absl::Status& s) { return s; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& s) {
  return s.status();
}

MATCHER(IsOk, "is OK") {
  const absl::Status& status = GetStatus(arg);
  *result_listener << status.ToString();
  return status.ok();
}

MATCHER_P2(StatusIs, code, message_matcher, "has a status of this code and message") {
  const absl::Status& status = GetStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::Matches(message_matcher)(std::string(status.message()));
}

}  // namespace hpc::testing

#define EXPECT_OK(expr) EXPECT_THAT((expr), ::hpc::testing::IsOk())
#define ASSERT_OK(expr) ASSERT_THAT((expr), ::hpc::testing::IsOk())

#endif  // HPC_COMMON_STATUS_MATCHERS_H_
