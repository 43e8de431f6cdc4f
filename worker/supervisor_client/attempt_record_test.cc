#include "worker/supervisor_client/attempt_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

using ::absl::StatusCode;
using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

class AttemptRecordTest : public ::testing::Test {
 protected:
  std::string Read(const std::string& kind) const {
    return ReadRecord(dir_.path(), kind).value_or("none");
  }
  const testing::TempDir dir_;
};

TEST_F(AttemptRecordTest, OfEachKindTheLastLineHolds) {
  ASSERT_OK(BeginRecord(dir_.path(), "{}"));
  ASSERT_OK(AddToRecord(dir_.path(), {"arrived", "1"}));
  ASSERT_OK(AddToRecord(dir_.path(), {"cgroup", "/with blanks/x"}));
  ASSERT_OK(AddToRecord(dir_.path(), {"arrived", "2"}));
  EXPECT_EQ(Read("attempt"), "{}");
  EXPECT_EQ(Read("arrived"), "2");
  EXPECT_EQ(Read("cgroup"), "/with blanks/x");
}

TEST_F(AttemptRecordTest, WhatIsNotThereIsNotFound) {
  EXPECT_THAT(ReadRecord(dir_.path(), "attempt"),
              StatusIs(StatusCode::kNotFound, HasSubstr("record")));
  ASSERT_OK(BeginRecord(dir_.path(), "{}"));
  EXPECT_THAT(ReadRecord(dir_.path(), "at"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no line 'at'")));
}

TEST_F(AttemptRecordTest, WhoBeginsItForgetsWhatWasThere) {
  ASSERT_OK(BeginRecord(dir_.path(), "first"));
  ASSERT_OK(AddToRecord(dir_.path(), {"arrived", "1"}));
  ASSERT_OK(BeginRecord(dir_.path(), "second"));
  EXPECT_EQ(Read("attempt"), "second");
  EXPECT_EQ(Read("arrived"), "none");
}

TEST_F(AttemptRecordTest, ATornLineIsNotTakenForAWholeOne) {
  ASSERT_OK(AddToRecord(dir_.path(), {"cgroup", "/a"}));
  dir_.Append("record", "cgroup /a/lon");
  EXPECT_THAT(ReadRecord(dir_.path(), "cgroup"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("torn")));
  EXPECT_THAT(ReadRecord(dir_.path(), "store"),
              StatusIs(StatusCode::kNotFound, HasSubstr("store")));
}

TEST_F(AttemptRecordTest, AValueIsOneLine) {
  EXPECT_THAT(AddToRecord(dir_.path(), {"cgroup", "/a\nattempt {}"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("more than one line")));
  EXPECT_FALSE(ReadFile(dir_.File("record")).ok());
}

TEST_F(AttemptRecordTest, APipeOrALinkInItsPlaceHoldsNobodyUp) {
  ASSERT_EQ(mkfifo(dir_.File("record").c_str(), 0600), 0);
  EXPECT_FALSE(AddToRecord(dir_.path(), {"arrived", "1"}).ok());
  EXPECT_THAT(ReadRecord(dir_.path(), "arrived"),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("is not a plain file")));
  ASSERT_EQ(remove(dir_.File("record").c_str()), 0);
  ASSERT_EQ(symlink("elsewhere", dir_.File("record").c_str()), 0);
  EXPECT_FALSE(BeginRecord(dir_.path(), "{}").ok());
  EXPECT_FALSE(ReadFile(dir_.File("elsewhere")).ok());
}

// A limit on the size of files takes the part that fits, just as a full disk does.
TEST_F(AttemptRecordTest, ALineThatDoesNotFitLeavesTheOthersWhole) {
  ASSERT_OK(BeginRecord(dir_.path(), "{}"));
  rlimit former{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &former), 0);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{20, former.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const absl::Status added = AddToRecord(dir_.path(), {"store", std::string(100, 'x')});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &former), 0);
  EXPECT_THAT(added, StatusIs(StatusCode::kResourceExhausted, HasSubstr("record")));
  ASSERT_OK(AddToRecord(dir_.path(), {"arrived", "1"}));
  EXPECT_EQ(Read("attempt"), "{}");
  EXPECT_EQ(Read("store"), "none");
  EXPECT_EQ(Read("arrived"), "1");
}

}  // namespace
}  // namespace hpc::worker
