#include "worker/rendezvous/arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::worker::store {
namespace {

using ::testing::ElementsAre;

TEST(ArrivalsTest, ListsEachProcessOnceInOrder) {
  Arrivals arrivals;
  EXPECT_TRUE(arrivals.Came("10.0.0.2", 41));
  EXPECT_TRUE(arrivals.Came("10.0.0.1", 41));
  EXPECT_TRUE(arrivals.Came("10.0.0.1", 7));
  EXPECT_FALSE(arrivals.Came("10.0.0.2", 41));
  EXPECT_THAT(arrivals.list(), ElementsAre(StoreStatus::Arrival{"10.0.0.2", 41},
                                           StoreStatus::Arrival{"10.0.0.1", 41},
                                           StoreStatus::Arrival{"10.0.0.1", 7}));
}

TEST(ArrivalsTest, KeepsNoMoreThanItsLimit) {
  Arrivals arrivals;
  for (size_t i = 0; i < kMaxArrivals; ++i) arrivals.Came("10.0.0.1", static_cast<int64_t>(i));
  EXPECT_FALSE(arrivals.Came("10.0.0.2", 1));
  EXPECT_EQ(arrivals.list().size(), kMaxArrivals);
}

}  // namespace
}  // namespace hpc::worker::store
