// A worker closes its connection and does not come back. Its ranks live on under their supervisor,
// and are ended through another node of the gang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// A gang on pc1 and pc2 that can be recalled. Other nodes are free, if a test has any.
class RecallTest : public ::testing::Test {
 protected:
  void Begin(const RunRequest& request, const std::vector<std::string>& nodes) {
    c.recall = {4711, "key", "proof"};
    c.Join(nodes);
    run = c.Submit(request);
    c.Run(run);
    c.TakeMessages();
    c.TakeEvents();
  }
  std::vector<std::string> Recalls() {
    std::vector<std::string> recalls;
    for (const std::string& message : c.TakeMessages()) {
      if (message.find("recall") != std::string::npos) recalls.push_back(message);
    }
    return recalls;
  }

  ClusterTester c;
  RunId run = 0;
};

TEST_F(RecallTest, AGangMovesToASpareHalfASecondAfterAWorkerIsGone) {
  Begin(Nodes(2), {"pc1", "pc2", "pc3"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Milliseconds(499), {"pc2"});
  EXPECT_EQ(c.state(run), RunState::kRunning);
  c.Pass(absl::Milliseconds(1), {"pc2"});
  EXPECT_THAT(c.record(run).reason, HasSubstr("not back within the reconnect grace of 500 ms"));
  EXPECT_THAT(Recalls(), ElementsAre("pc1: recall 1.1 on pc2 at 10.0.0.pc2:4711 within 30 s"));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.record(run).attempts, 1) << "pc2 may still run it";
  ASSERT_OK(c.Recalled(run, "pc1", "pc2"));
  EXPECT_THAT(c.TakeEvents("attempt"),
              ElementsAre("attempt.fenced its supervisor on pc2 has ended its ranks, as it was "
                          "asked to by pc1"));
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc3"));
}

TEST_F(RecallTest, WithoutASpareAWorkerHasTheWholeGraceToComeBack) {
  Begin(Nodes(2), {"pc1", "pc2"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Milliseconds(2900), {"pc2"});
  EXPECT_EQ(c.state(run), RunState::kRunning);
  c.Pass(absl::Milliseconds(100), {"pc2"});
  EXPECT_EQ(c.state(run), RunState::kStopping);
  EXPECT_THAT(Recalls(), ElementsAre(HasSubstr("recall 1.1 on pc2")));
}

TEST_F(RecallTest, AGangThatWouldBeSmallerWaitsTheWholeGrace) {
  Begin(Nodes(1, 2), {"pc1", "pc2"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Seconds(2), {"pc2"});
  EXPECT_EQ(c.state(run), RunState::kRunning);
}

TEST_F(RecallTest, ASpareThatSleepsIsNone) {
  Begin(Nodes(2), {"pc1", "pc2", "pc3"});
  ASSERT_OK(c.Sleep("pc3"));
  c.Disconnect("pc3", /*reset=*/true);
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Seconds(2), {"pc2"});
  EXPECT_EQ(c.state(run), RunState::kRunning);
}

TEST_F(RecallTest, AWorkerThatHandsOverHasTheWholeGraceForTheNextOne) {
  Begin(Nodes(2), {"pc1", "pc2", "pc3"});
  ASSERT_OK(c.Report("pc2", protocol::HandingOver{}));
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Milliseconds(2900), {"pc2"});
  EXPECT_EQ(c.state(run), RunState::kRunning);
  c.Pass(absl::Milliseconds(100), {"pc2"});
  EXPECT_EQ(c.state(run), RunState::kStopping);
}

TEST_F(RecallTest, AGangThatWouldHaveToWaitAfterAnotherLossGivesTheWholeGrace) {
  Begin(Nodes(2), {"pc1", "pc2", "pc3", "pc4"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Milliseconds(500), {"pc2"});
  ASSERT_OK(c.Returned(run, "pc1"));
  ASSERT_OK(c.Recalled(run, "pc1", "pc2"));
  c.Run(run);
  ASSERT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc3"));
  c.Disconnect("pc3", /*reset=*/true);
  c.Pass(absl::Milliseconds(2900), {"pc2", "pc3"});
  EXPECT_EQ(c.state(run), RunState::kRunning);
}

TEST_F(RecallTest, WhenNobodyIsLeftToRecallTheWorkersHaveTheWholeGrace) {
  Begin(Nodes(2), {"pc1", "pc2", "pc3", "pc4"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Disconnect("pc1", /*reset=*/true);
  c.Pass(absl::Milliseconds(2900), {"pc1", "pc2"});
  EXPECT_EQ(c.state(run), RunState::kRunning);
  c.Pass(absl::Milliseconds(100), {"pc1", "pc2"});
  EXPECT_EQ(c.state(run), RunState::kStopping);
}

TEST_F(RecallTest, OneSpareDoesNotStandInForTwoGangs) {
  for (const bool enough : {false, true}) {
    ClusterTester two;
    two.recall = {4711, "key", "proof"};
    ASSERT_OK(two.Hello(HelloOf("pc2", 2)));
    two.Join({"pc1", "pc3"});
    RunRequest request = Nodes(2);
    request.gpus_per_node = 1;
    request.exclude = {"pc3"};
    two.Run(two.Submit(request));
    request.exclude = {"pc1"};
    two.Run(two.Submit(request));
    two.Join({"pc4"});
    if (enough) two.Join({"pc5"});
    two.Disconnect("pc2", /*reset=*/true);
    two.Pass(absl::Seconds(1), {"pc2"});
    const RunState expected = enough ? RunState::kStopping : RunState::kRunning;
    EXPECT_EQ(two.state(1), expected);
    EXPECT_EQ(two.state(2), expected);
  }
}

TEST_F(RecallTest, AWorkerThatIsBackInTimeChangesNothing) {
  Begin(Nodes(2), {"pc1", "pc2", "pc3"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Milliseconds(400), {"pc2"});
  protocol::Hello hello = HelloOf("pc2");
  hello.incarnation = 2;
  protocol::HeldAttempt held;
  held.ref = {run, 1};
  held.started = true;
  held.ranks.push_back({1, 1001, std::nullopt, {}});
  hello.attempts = {held};
  ASSERT_OK(c.Hello(hello));
  c.Pass(absl::Seconds(10));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  EXPECT_THAT(Recalls(), IsEmpty());
}

TEST_F(RecallTest, WhereNobodyAnswersTheFenceDecides) {
  Begin(Nodes(2), {"pc1", "pc2", "pc3"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Milliseconds(500), {"pc2"});
  ASSERT_OK(c.Returned(run, "pc1"));
  ASSERT_OK(c.Recalled(run, "pc1", "pc2", absl::UnavailableError("refused")));
  c.Pass(absl::Minutes(5), {"pc2"});
  EXPECT_EQ(c.record(run).attempts, 1);
  c.Pass(absl::Seconds(32), {"pc2"});
  EXPECT_EQ(c.record(run).attempts, 2);
}

TEST_F(RecallTest, WhereOneCannotRecallTheNextOneTries) {
  Begin(Nodes(4), {"pc1", "pc2", "pc3", "pc4", "pc5"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Milliseconds(500), {"pc2"});
  EXPECT_THAT(Recalls(), ElementsAre(HasSubstr("pc1: recall 1.1 on pc2")));
  ASSERT_OK(c.Recalled(run, "pc1", "pc2", absl::UnavailableError("no route")));
  EXPECT_THAT(Recalls(), ElementsAre(HasSubstr("pc3: recall 1.1 on pc2")));
  ASSERT_OK(c.Recalled(run, "pc1", "pc2", absl::UnavailableError("said twice")));
  EXPECT_THAT(Recalls(), IsEmpty());
  ASSERT_OK(c.Recalled(run, "pc3", "pc2", absl::UnavailableError("refused")));
  EXPECT_THAT(Recalls(), ElementsAre(HasSubstr("pc4: recall 1.1 on pc2")));
  ASSERT_OK(c.Recalled(run, "pc4", "pc2", absl::UnavailableError("refused")));
  EXPECT_THAT(Recalls(), IsEmpty());
}

TEST_F(RecallTest, WhenTheOneThatWasAskedIsLostTooTheNextOneTries) {
  Begin(Nodes(3), {"pc1", "pc2", "pc3", "pc4", "pc5"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Milliseconds(500), {"pc2"});
  EXPECT_THAT(Recalls(), ElementsAre(HasSubstr("pc1: recall 1.1 on pc2")));
  c.Disconnect("pc1", /*reset=*/true);
  c.Pass(absl::Seconds(3), {"pc1", "pc2"});
  EXPECT_THAT(Recalls(), UnorderedElementsAre(HasSubstr("pc3: recall 1.1 on pc1"),
                                              HasSubstr("pc3: recall 1.1 on pc2")));
}

TEST_F(RecallTest, AnAnswerAboutANodeThatIsNotLostMeansNothing) {
  Begin(Nodes(2), {"pc1", "pc2", "pc3"});
  ASSERT_OK(c.Recalled(run, "pc1", "pc2"));
  ASSERT_OK(c.Recalled(run, "pc1", "pc3"));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  EXPECT_THAT(c.TakeEvents(), IsEmpty());
}

TEST_F(RecallTest, ANodeThatHasNoPartInTheAttemptIsNotBelieved) {
  Begin(Nodes(2), {"pc1", "pc2", "pc3"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Milliseconds(500), {"pc2"});
  c.TakeMessages();
  ASSERT_OK(c.Recalled(run, "pc3", "pc2"));
  EXPECT_THAT(c.TakeMessages(), ElementsAre(absl::StrCat("pc3: forget ", run, ".1")));
  EXPECT_THAT(c.TakeEvents("attempt"), Not(Contains(HasSubstr("fenced"))));
}

TEST_F(RecallTest, ASilentNodeIsRecalledWhenItsLeaseIsOver) {
  Begin(Nodes(2), {"pc1", "pc2", "pc3"});
  c.Pass(absl::Seconds(6), {"pc2"});
  EXPECT_THAT(Recalls(), ElementsAre(HasSubstr("pc1: recall 1.1 on pc2")));
}

}  // namespace
}  // namespace hpc::coordinator::testing
