#include "coordinator/rpc/answers/wait_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/runtime/testing/engine_test_fixture.h"

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;
using testing::EngineTest;
using ::testing::IsEmpty;

// pc1 has room for one run: the others wait in the queue.
class WaitSourceTest : public EngineTest {
 protected:
  WaitSourceTest() { session_ = rig_.Connect("pc1", &link_); }
  ~WaitSourceTest() override { source_.reset(); }

  // Starts one run, with this many runs behind it.
  AttemptRef RunWithQueue(int behind) {
    const AttemptRef ref = rig_.RunOn(session_, &link_);
    for (int i = 0; i < behind; ++i) rig_.SubmitOk();
    return ref;
  }

  void Wait(const std::vector<RunId>& runs, EventId after_event = 0) {
    v1::WaitRequest request;
    request.mutable_runs()->Add(runs.begin(), runs.end());
    request.set_after_event(after_event);
    source_ = std::make_unique<WaitSource>(rig_.engine.get(), request);
    source_->OnOpen([this] { ++wakes_; });
  }

  // The next step of the source, once it has read what it needs.
  absl::StatusOr<Step> Next(v1::WaitResponse* message) {
    absl::StatusOr<Step> step = source_->Next(message);
    while (step.ok() && *step == Step::kWait && rig_.FinishReads()) step = source_->Next(message);
    return step;
  }

  // What is told until the source waits or ends, for example "over 3", "left 4 run.queued".
  std::vector<std::string> Told() {
    std::vector<std::string> told;
    while (true) {
      v1::WaitResponse message;
      const absl::StatusOr<Step> step = Next(&message);
      EXPECT_OK(step);
      if (!step.ok() || *step == Step::kWait) return told;
      if (*step == Step::kEnd) {
        told.push_back("end");
        return told;
      }
      for (const v1::Run& run : message.over()) told.push_back(absl::StrCat("over ", run.id()));
      if (message.has_left()) {
        const v1::RunUpdate& left = message.left();
        told.push_back(absl::StrCat("left ", left.run().id(), " ", left.event_kind()));
        event_ = left.event();
      }
    }
  }

  void Pass(absl::Duration time) {
    rig_.clock.Advance(time);
    EXPECT_OK(rig_.engine->Flush());
  }

  // pc1 takes the run that waits, and ends it.
  void RunNext(RunId run) {
    const AttemptRef ref{run, 1};
    rig_.Start(session_, ref);
    rig_.Finish(session_, ref);
  }

  Session session_;
  std::unique_ptr<WaitSource> source_;
  int wakes_ = 0;
  EventId event_ = 0;  // the last event told
};

TEST_F(WaitSourceTest, RunsThatAreOverAreToldAtOnceInOneMessage) {
  rig_.Finish(session_, RunWithQueue(0));
  rig_.Finish(session_, RunWithQueue(0));
  Wait({2, 1, 2});
  v1::WaitResponse message;
  EXPECT_EQ(*Next(&message), Step::kMessage);
  EXPECT_EQ(message.over_size(), 2);
  EXPECT_EQ(message.over(0).id(), 1);
  EXPECT_EQ(message.over(0).state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_THAT(Told(), ElementsAre("end"));
}

TEST_F(WaitSourceTest, TheOldestIsToldOfAtOnceAndEachAsItEnds) {
  const AttemptRef first = RunWithQueue(1);
  Wait({2, 1});
  EXPECT_THAT(Told(), ElementsAre("left 1 run.queued", "left 1 run.placed", "left 1 run.prepared",
                                  "left 1 run.started"));
  rig_.Finish(session_, first);
  EXPECT_GT(wakes_, 0);
  EXPECT_THAT(Told(), ElementsAre("over 1"));
  RunNext(2);
  EXPECT_THAT(Told(), ElementsAre("over 2", "end"));
}

TEST_F(WaitSourceTest, WhichBecomesTheOldestLaterIsToldOfWhenThatLasts) {
  const AttemptRef first = RunWithQueue(2);
  Wait({1, 3});
  Told();
  rig_.Finish(session_, first);
  EXPECT_THAT(Told(), ElementsAre("over 1"));
  Pass(absl::Milliseconds(499));
  EXPECT_THAT(Told(), IsEmpty());
  wakes_ = 0;
  Pass(absl::Seconds(2));
  EXPECT_EQ(wakes_, 1);
  EXPECT_THAT(Told(), ElementsAre("left 3 run.queued", "left 3 run.waiting"));
}

TEST_F(WaitSourceTest, WhoComesAgainIsNotToldAgainWhatItHasSeen) {
  RunWithQueue(0);
  Wait({1});
  Told();
  Wait({1}, event_);
  EXPECT_THAT(Told(), ElementsAre("left 1 "));
}

TEST_F(WaitSourceTest, MoreThanOneMessageHoldsComeInSeveral) {
  std::vector<RunId> runs;
  for (int i = 0; i < 1001; ++i) runs.push_back(rig_.SubmitOk());
  for (const RunId run : runs) {
    rig_.engine->Cancel(run, {"ada"}, [](const absl::Status& status) { EXPECT_OK(status); });
  }
  EXPECT_OK(rig_.engine->Flush());
  rig_.engine->OnReport(session_, protocol::AttemptReturned{{1, 1}, {}}).IgnoreError();
  EXPECT_OK(rig_.engine->Flush());
  Wait(runs);
  v1::WaitResponse message;
  EXPECT_EQ(*Next(&message), Step::kMessage);
  EXPECT_EQ(message.over_size(), 1000);
  EXPECT_THAT(Told(), ElementsAre(absl::StrCat("over ", runs.back()), "end"));
}

}  // namespace
}  // namespace hpc::coordinator
