#include "coordinator/runtime/postscripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/runtime/testing/engine_rig.h"

namespace hpc::coordinator {
namespace {

using ::testing::IsEmpty;
using testing::RecordingLink;
using ::testing::SizeIs;

class PostscriptsTest : public ::testing::Test {
 protected:
  PostscriptsTest() {
    links_.Add({"pc1", 1}, &pc1_);
    links_.Add({"pc2", 1}, &pc2_);
  }
  void Forget(const std::string& node) {
    postscripts_.Add(now_, node, [](NodeLink* link) { link->Send(protocol::Forget{{7, 1}}); });
  }

  MonoTime now_{absl::Seconds(100)};
  RecordingLink pc1_, pc2_;
  NodeLinks links_;
  Postscripts postscripts_{&links_};
};

TEST_F(PostscriptsTest, TheyGoBehindWhatTheirNodeIsTold) {
  Forget("pc1");
  Forget("pc2");
  postscripts_.Send(now_, {});
  EXPECT_THAT(pc1_.commands, IsEmpty());
  postscripts_.Send(now_, {"pc1", "pc3"});
  EXPECT_THAT(pc1_.commands, SizeIs(1));
  EXPECT_THAT(pc2_.commands, IsEmpty());
  postscripts_.Send(now_, {"pc1"});
  EXPECT_THAT(pc1_.commands, SizeIs(1));
}

TEST_F(PostscriptsTest, TheyWaitTwentyMillisecondsFromTheFirstOn) {
  EXPECT_EQ(postscripts_.NextDeadline(), MonoTime::Infinite());
  Forget("pc1");
  const MonoTime due = now_ + absl::Milliseconds(20);
  now_ = now_ + absl::Milliseconds(15);
  Forget("pc1");
  Forget("pc2");
  EXPECT_EQ(postscripts_.NextDeadline(), due);
  postscripts_.Send(due - absl::Nanoseconds(1), {});
  EXPECT_THAT(pc1_.commands, IsEmpty());
  postscripts_.Send(due, {});
  EXPECT_THAT(pc1_.commands, SizeIs(2));
  EXPECT_THAT(pc2_.commands, IsEmpty());
  EXPECT_EQ(postscripts_.NextDeadline(), due + absl::Milliseconds(15));
}

TEST_F(PostscriptsTest, ANodeThatIsGoneIsToldNothingWhenItIsBack) {
  Forget("pc1");
  links_.Remove({"pc1", 1});
  postscripts_.Send(now_ + absl::Seconds(1), {});
  RecordingLink again;
  links_.Add({"pc1", 2}, &again);
  postscripts_.Send(now_ + absl::Seconds(1), {"pc1"});
  EXPECT_THAT(again.commands, IsEmpty());
}

}  // namespace
}  // namespace hpc::coordinator
