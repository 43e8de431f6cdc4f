#include "coordinator/rpc/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace hpc::coordinator {
namespace {

TEST(DescriptorsTest, LeaveSomeToFilesAndARangeToTheUnixSocket) {
  const DescriptorPlan usual = PlanDescriptors(1024);
  EXPECT_EQ(usual.tcp_end, 704);
  EXPECT_EQ(usual.local_end, 960);
  const DescriptorPlan service = PlanDescriptors(65536);
  EXPECT_EQ(service.tcp_end, 49088);
  EXPECT_EQ(service.local_end, 65472);
  const DescriptorPlan few = PlanDescriptors(128);
  EXPECT_EQ(few.tcp_end, 64);
  EXPECT_EQ(few.local_end, 96);
}

TEST(DescriptorsTest, AreRaisedToWhatTheAdministratorAllows) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 512 || before.rlim_max > 1 << 20) GTEST_SKIP() << "another hard limit";
  const rlimit low{256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  RaiseDescriptorLimit();
  EXPECT_EQ(DescriptorLimit(), static_cast<int>(before.rlim_max));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace hpc::coordinator
