#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/convert_node.h"
#include "coordinator/rpc/convert/convert_run.h"
#include "coordinator/rpc/convert/convert_worker.h"

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;

TEST(Runs, ALongCommandIsCutInListings) {
  RunExtras extras;
  extras.command = {"python", std::string(5000, 'x'), "last"};
  v1::Run run;
  ToProto(RunRecord(), extras, &run);
  EXPECT_THAT(run.command(), ElementsAre("python", "..."));
}

TEST(Times, TheInfinitiesMeanNotYetAndNever) {
  EXPECT_EQ(ToMicros(absl::InfinitePast()), 0);
  EXPECT_EQ(ToMicros(absl::InfiniteFuture()), 0);
  EXPECT_EQ(ToMicros(absl::FromUnixMicros(1'800'000'000'000'001)), 1'800'000'000'000'001);
}

TEST(Words, NulAndSplitCharactersAreReplaced) {
  EXPECT_EQ(CleanText(absl::string_view("a\0b", 3), 100),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(CleanText("\xC3\xBC\xC3\xBC", 3), "\xC3\xBC\xEF\xBF\xBD");
}

TEST(Workers, AReclaimWithoutATimeIsUntilLent) {
  v1::Hello hello;
  hello.set_reclaimed(true);
  EXPECT_EQ(FromProto(hello).reclaim_left, std::nullopt);
  hello.set_reclaim_left_ms(1500);
  EXPECT_EQ(FromProto(hello).reclaim_left, absl::Milliseconds(1500));
}

TEST(Workers, AShortTimeLeftIsNotSentAsUntilLent) {
  protocol::SetOwner owner;
  owner.reclaimed = true;
  owner.left = absl::Microseconds(10);
  EXPECT_EQ(ToProto(owner).set_owner().left_ms(), 1);
  EXPECT_FALSE(ToProto(owner).set_owner().has_grace_ms());
  owner.grace = absl::Seconds(25);
  EXPECT_EQ(ToProto(owner).set_owner().grace_ms(), 25'000);
}

TEST(Workers, NoMoreCheckpointsAreTakenThanAWorkerNames) {
  v1::Prepared prepared;
  for (int i = 0; i < 600; ++i) prepared.add_checkpoints()->set_name(absl::StrCat("step-", i));
  EXPECT_EQ(FromProto(prepared).checkpoints.size(), protocol::kMostCheckpoints);
  EXPECT_EQ(FromProto(prepared).checkpoints[1].name, "step-1");
}

TEST(Workers, ARefusalKeepsItsCodeAndWords) {
  v1::Prepared prepared;
  prepared.set_error_code(5);
  prepared.set_error("no such program");
  const protocol::Prepared report = FromProto(prepared);
  EXPECT_EQ(report.status, absl::NotFoundError("no such program"));
}

TEST(Workers, HowRanksAreRecalledIsHeardAndToldWhole) {
  v1::Prepared prepared;
  prepared.set_recall_port(4711);
  prepared.set_recall_key("key");
  prepared.set_recall_proof("proof");
  const protocol::RecallAccess access = FromProto(prepared).recall;
  const v1::CoordinatorMessage message =
      ToProto(protocol::Recall{{12, 2}, "pc2", "10.0.0.2", access, absl::Milliseconds(500)});
  const v1::Recall& recall = message.recall();
  EXPECT_EQ(recall.ref().run(), 12);
  EXPECT_EQ(recall.node(), "pc2");
  EXPECT_EQ(recall.address(), "10.0.0.2");
  EXPECT_EQ(recall.port(), 4711);
  EXPECT_EQ(recall.key(), "key");
  EXPECT_EQ(recall.proof(), "proof");
  EXPECT_EQ(recall.grace_ms(), 500);
}

TEST(Workers, AnExitHasACodeOrASignal) {
  v1::RankExit exit;
  exit.set_signal(9);
  EXPECT_EQ(FromProto(exit).signal, 9);
  EXPECT_EQ(FromProto(exit).exit_code, std::nullopt);
}

TEST(Workers, AnExitDoesNotComeBeforeItsWords) {
  v1::RankExit exit;
  exit.set_words_before_end_us(77);
  EXPECT_EQ(FromProto(exit).words_before_end, absl::Microseconds(77));
  exit.set_words_before_end_us(-77);
  EXPECT_EQ(FromProto(exit).words_before_end, absl::ZeroDuration());
}

TEST(Workers, MetricsKeepNan) {
  v1::MetricData data;
  data.add_points()->set_value(std::nan(""));
  EXPECT_TRUE(std::isnan(FromProto(data, absl::UnixEpoch()).points[0].value));
}

TEST(Workers, APointIsAsOldAsItsNodeSays) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  v1::MetricData data;
  data.add_points()->set_age_us(90'000'001);
  data.add_points()->set_age_us(-5);  // the program names a time in the future
  const MetricReport report = FromProto(data, now);
  EXPECT_EQ(report.points[0].at, now - absl::Microseconds(90'000'001));
  EXPECT_EQ(report.points[1].at, now);
}

TEST(Nodes, AnInventoryComesBackAsItWent) {
  protocol::Inventory inventory;
  inventory.devices = {
      {0, protocol::DeviceKind::kGpu, "GPU-1", "RTX 3090", int64_t{24} << 30, "01:00.0"}};
  inventory.cores = 16;
  inventory.memory_bytes = 1 << 30;
  inventory.disks = {{"/", 100, 50}};
  inventory.interfaces = {{"eth0", "10.0.0.1", "aa:bb:cc:dd:ee:ff", 1000, "10.0.0.255"}};
  inventory.hostname = "pc1";
  inventory.os = "Debian";
  inventory.kernel = "6.1";
  inventory.driver = "550";
  inventory.worker_version = "0.1.0";
  inventory.gpu_trouble = "nvmlInit: Driver/library version mismatch";
  inventory.sleep_trouble = "logind: na";
  inventory.can_wake_by_hook = true;
  inventory.owners = {"anna", "bert"};
  EXPECT_EQ(FromProto(ToProto(inventory)), inventory);
}

TEST(Events, ARankOfMinusOneIsNone) {
  EventRecord event;
  EXPECT_FALSE(ToProto(event).has_rank());
  event.rank = 0;
  EXPECT_TRUE(ToProto(event).has_rank());
}

}  // namespace
}  // namespace hpc::coordinator
