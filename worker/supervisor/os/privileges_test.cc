#include "worker/supervisor/os/privileges.h"

#include <gtest/gtest.h>

namespace hpc::worker {
namespace {

TEST(AccountIdsTest, TheyGoThroughACommandLine) {
  for (const AccountIds& ids :
       {AccountIds{1000, 1000, {}}, AccountIds{65534, 5, {27}},
        AccountIds{1, 0, {4, 24, 4294967294}}, AccountIds{1000, 1000, {27}, true}}) {
    EXPECT_EQ(ParseAccountIds(ToText(ids)), ids) << ToText(ids);
  }
  EXPECT_EQ(ToText({1000, 100, {27, 44}}), "1000:100:27,44");
  EXPECT_EQ(ToText({1000, 100, {27, 44}, true}), "+1000:100:27,44");
}

TEST(AccountIdsTest, OtherTextIsRefused) {
  for (const char* text :
       {"", "+", "++1:2:", "1:+2:", "1", "1:", "1:2", ":2:", "1:2:3,", "1:2:,3", "1:2:3 4",
        "a:2:", "-1:2:", "1:2:x", "4294967295:2:", "99999999999:2:", "1:4294967295:"}) {
    EXPECT_EQ(ParseAccountIds(text), std::nullopt) << text;
  }
}

TEST(AccountIdsTest, NobodyBecomesRoot) { EXPECT_EQ(ParseAccountIds("0:1000:"), std::nullopt); }

}  // namespace
}  // namespace hpc::worker
