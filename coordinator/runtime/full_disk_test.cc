// Logs that cannot be written for a while.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/runtime/output_tracker.h"
#include "coordinator/runtime/testing/engine_test_fixture.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using testing::EngineTest;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RecordingLink;
using ::testing::SizeIs;

// A disk that has no space for logs, while the database can still be written.
class FullDiskTest : public EngineTest {
 protected:
  FullDiskTest() : session_(rig_.Connect("pc1", &link_)), ref_(rig_.RunOn(session_, &link_)) {
    rig_.files.full_from = 0;
    EXPECT_OK(rig_.engine->OnLog(session_, out_, 0, "one"));
  }

  // Flushes as the server's loop does, which is told when to look again.
  absl::Status FlushFor(absl::Duration duration) {
    const MonoTime end = rig_.clock.Get().mono + duration;
    absl::Status status = rig_.engine->Flush();
    for (int round = 0; status.ok() && rig_.engine->NextDeadline() <= end; ++round) {
      if (round > 1000) return absl::InternalError("the loop never rests");
      const absl::Duration wait = rig_.engine->NextDeadline() - rig_.clock.Get().mono;
      if (wait > absl::ZeroDuration()) rig_.clock.Advance(wait);
      status = rig_.engine->Flush();
    }
    if (rig_.clock.Get().mono < end) rig_.clock.Advance(end - rig_.clock.Get().mono);
    return status;
  }

  const Session session_;
  const AttemptRef ref_;
  const protocol::StreamId out_{ref_, 0, false}, err_{ref_, 0, true};
};

TEST_F(FullDiskTest, OutputIsNotAcknowledgedUntilThereIsSpaceAndAllElseGoesOn) {
  EXPECT_OK(FlushFor(absl::Seconds(5)));
  EXPECT_THAT(link_.log_acks, IsEmpty());
  EXPECT_OK(rig_.engine->OnMetrics(session_, {.offset = {ref_, 0, 40}}));
  Submit();
  EXPECT_OK(FlushFor(absl::Seconds(5)));
  EXPECT_THAT(ids_, SizeIs(1));
  EXPECT_THAT(link_.metric_acks, SizeIs(1));

  rig_.files.full_until = 0;
  EXPECT_OK(FlushFor(absl::Seconds(1)));
  EXPECT_EQ(link_.log_acks[out_], 3);
  EXPECT_EQ(rig_.logs->Read(ref_.run, 0, 100)->front().data, "one");
}

TEST_F(EngineTest, WithoutDescriptorsOutputIsSentAgainAndTheDaemonGoesOn) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  const protocol::StreamId out{ref, 0, false};
  const auto too_many =
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("Too many open files"));
  rig_.files.no_descriptors = true;
  EXPECT_THAT(rig_.engine->OnLog(session, out, 0, "one"), too_many);
  EXPECT_THAT(rig_.engine->OnLogEnd(session, out, 0), too_many);
  EXPECT_OK(rig_.engine->Flush());
  rig_.files.no_descriptors = false;
  EXPECT_OK(rig_.engine->OnLog(session, out, 0, "one"));
  rig_.clock.Advance(absl::Seconds(1));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(link_.log_acks[out], 3);
}

TEST_F(EngineTest, WithoutDescriptorsALogStaysAsItIsWhenItsRunIsOver) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  rig_.Finish(session, ref);
  rig_.files.no_descriptors = true;
  rig_.clock.Advance(OutputTracker::kPatience);
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_TRUE(rig_.engine->OutputComplete(ref.run));
  EXPECT_OK(rig_.engine->Flush());
}

TEST_F(FullDiskTest, TheDaemonStopsBeforeWorkersDropWhatIsNotAcknowledged) {
  EXPECT_OK(FlushFor(absl::Seconds(19)));
  EXPECT_THAT(FlushFor(absl::Seconds(2)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("/logs/1"), HasSubstr("free space"))));
}

TEST_F(FullDiskTest, ARunIsNotCompleteBeforeItsOutputIsStored) {
  EXPECT_OK(rig_.engine->OnLogEnd(session_, out_, 0));
  EXPECT_OK(rig_.engine->OnLogEnd(session_, err_, 0));
  EXPECT_OK(rig_.engine->OnMetrics(session_, {.offset = {ref_, 0, 0}, .ended = true}));
  rig_.Finish(session_, ref_);
  EXPECT_OK(FlushFor(absl::Seconds(15)));
  EXPECT_FALSE(rig_.engine->OutputComplete(ref_.run));
  rig_.files.full_until = 0;
  EXPECT_OK(FlushFor(absl::Seconds(1)));
  EXPECT_TRUE(rig_.engine->OutputComplete(ref_.run));
}

TEST_F(FullDiskTest, AStopMeanwhileLosesNothing) {
  EXPECT_OK(FlushFor(absl::Seconds(5)));
  rig_.files.full_until = 0;
  rig_.Restart();
  RecordingLink again;
  protocol::Hello hello = testing::HelloOf("pc1");
  hello.attempts = {{.ref = ref_, .started = true, .ranks = {{.rank = 0, .pid = 100}}}};
  EXPECT_OK(rig_.engine->OnHello(hello, &again));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(again.log_acks[out_], 0);
}

}  // namespace
}  // namespace hpc::coordinator
