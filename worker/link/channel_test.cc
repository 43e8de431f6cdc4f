#include "worker/link/channel.h"

#include <gtest/gtest.h>

#include "member/admission.h"
#include "member/testing.h"

namespace hpc::worker {
namespace {

TEST(ChannelTest, ACallTellsWhichAuthoritiesTheCoordinatorShowed) {
  const member::TestCoordinator coordinator, other;
  const pki::Membership membership = coordinator.Admit(pki::Role::kUser, "anna");
  const auto stub =
      v1::Trust::NewStub(MakeChannel(coordinator.address(), member::Security::Of(membership)));
  grpc::ClientContext context;
  v1::WhoAmIResponse response;
  ASSERT_TRUE(stub->WhoAmI(&context, {}, &response).ok());
  const std::string shown = ShownOn(context);
  EXPECT_TRUE(member::KnowsAll(membership, shown));
  EXPECT_FALSE(member::KnowsAll(other.Admit(pki::Role::kUser, "anna"), shown));
}

}  // namespace
}  // namespace hpc::worker
