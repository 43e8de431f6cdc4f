#include "coordinator/rpc/doors/descriptors.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hpc::coordinator
