#include "train/buckets/bucket_plan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BucketPlan, FillsBucketsInTheOrderOfReadiness) {
  EXPECT_THAT(PlanBuckets({{4}, {4}, {4}, {4}, {4}}, {4, 3, 2, 1, 0}, 8, 8),
              ElementsAre(ElementsAre(4, 3), ElementsAre(2, 1), ElementsAre(0)));
}

TEST(BucketPlan, TheFirstIsSmaller) {
  EXPECT_THAT(PlanBuckets({{4}, {4}, {4}, {4}}, {0, 1, 2, 3}, 4, 100),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3)));
}

TEST(BucketPlan, WhatIsLargerThanABucketHasOneForItself) {
  EXPECT_THAT(PlanBuckets({{4}, {100}, {4}}, {0, 1, 2}, 8, 8),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

TEST(BucketPlan, KindsDoNotMix) {
  EXPECT_THAT(PlanBuckets({{4, 0}, {4, 1}, {4, 0}, {4, 1}}, {0, 1, 2, 3}, 100, 100),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

TEST(BucketPlan, ABucketComesWhenItsLastItemDoes) {
  EXPECT_THAT(PlanBuckets({{4, 0}, {4, 1}, {4, 1}, {4, 0}}, {0, 1, 2, 3}, 100, 100),
              ElementsAre(ElementsAre(1, 2), ElementsAre(0, 3)));
}

TEST(BucketPlan, NothingNeedsNoBucket) { EXPECT_THAT(PlanBuckets({}, {}, 1, 1), IsEmpty()); }

}  // namespace
}  // namespace hpc::train
