// Who serves the rendezvous store of a gang: a worker, rank 0, or the launcher that the user runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

TEST(StoreHostTest, StoreIsHostedByTheWorkerUnlessATorchCannotBeItsClient) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  ASSERT_OK(c.Prepared(run, "pc1"));
  protocol::Prepared report;
  report.ref = c.ref(run);
  report.store_client_ok = false;
  ASSERT_OK(c.Report("pc2", report));
  EXPECT_EQ(c.attempt(run).store_host, protocol::StoreHost::kRank0);
  EXPECT_EQ(c.attempt(run).master_addr, "10.0.0.pc1");
  EXPECT_EQ(c.attempt(run).master_port, 29500);
}

TEST(StoreHostTest, ASingleRankServesItsStoreItself) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Gpus(1));
  ASSERT_OK(c.Prepared(run, "pc1"));
  EXPECT_EQ(c.attempt(run).store_host, protocol::StoreHost::kRank0);
}

TEST(StoreHostTest, StoreHostThatWasAskedForIsKept) {
  ClusterTester c;
  c.Join({"pc1"});
  RunRequest request = Nodes(1);
  request.store_host = protocol::StoreHost::kWorker;
  const RunId run = c.Submit(request);
  ASSERT_OK(c.Prepared(run, "pc1"));
  EXPECT_EQ(c.attempt(run).store_host, protocol::StoreHost::kWorker);
}

TEST(StoreHostTest, WithoutAStoreNothingIsStarted) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.TakeMessages();
  protocol::Prepared report;
  report.ref = c.ref(run);
  ASSERT_OK(c.Report("pc1", report));
  EXPECT_EQ(c.record(run).reason, "pc1 has not said on which port the rendezvous store is");
}

TEST(StoreHostTest, WhetherLaunchersOfTheirOwnHaveMetIsNotClaimed) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  RunRequest request = Nodes(2);
  request.mode = protocol::LaunchMode::kPerNode;
  const RunId run = c.Submit(request);
  c.Run(run);
  c.Pass(absl::Hours(1));
  EXPECT_THAT(c.TakeEvents("run.rendezvous-late"), IsEmpty());
  for (const int32_t rank : {0, 1}) ASSERT_OK(c.Exit(run, rank, 0));
  c.AllReturned(run);
  EXPECT_THAT(c.TakeEvents(), Contains("run.succeeded every rank exited 0 after 1 h"));
}

}  // namespace
}  // namespace hpc::coordinator::testing
