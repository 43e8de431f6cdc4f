#include "train/net/own_address.h"

#include "gtest/gtest.h"
#include "train/net/sockets.h"

namespace hpc::train {
namespace {

std::string OwnAddressWhereMasterIs(const std::string& host) {
  LaunchEnvironment environment;
  environment.master_addr = host;
  environment.master_port = 29500;
  return OwnAddress(environment);
}

TEST(OwnAddressTest, WhereAllRanksAreOnThisPcItIsTheLoopback) {
  for (const char* here : {"127.0.0.1", "localhost", "127.0.1.1"}) {
    EXPECT_TRUE(IsLoopback(OwnAddressWhereMasterIs(here))) << here;
  }
}

// A PC's own name leads to the loopback on Debian. So does this number, whose text does not look
// like such an address.
TEST(OwnAddressTest, ANameThatLeadsToTheLoopbackIsNotWhatOthersAreTold) {
  const std::string own = OwnAddressWhereMasterIs("0x7f000001");
  EXPECT_EQ(own, OutwardAddress().value_or("127.0.0.1"));
  EXPECT_EQ(IsLoopback(own), !OutwardAddress());
}

}  // namespace
}  // namespace hpc::train
