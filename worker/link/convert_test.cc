#include "worker/link/convert.h"

#include <gtest/gtest.h>

#include <limits>

#include "common/version.h"
#include "protocol/limits.h"

namespace hpc::worker {
namespace {

TEST(ConvertTest, AHelloTellsEverything) {
  protocol::Hello hello;
  hello.resumed = true;
  hello.reclaimed = true;
  hello.reclaim_left = absl::Seconds(90);
  protocol::RankExit exit;
  exit.signal = 9;
  exit.message = "bad \xff bytes";
  hello.attempts = {{.ref = {12, 2},
                     .started = true,
                     .ranks = {{3, 100, std::nullopt, {absl::Seconds(5), {}}},
                               {4, 101, exit, {absl::Seconds(5), absl::Microseconds(7)}}},
                     .halt = {protocol::HaltKind::kSupervisorLost, "why"},
                     .store_lost = absl::Seconds(4)}};
  hello.node = "pc1";
  hello.incarnation = 7;
  hello.boot_id = "boot";
  hello.address = "10.0.0.1";
  hello.said = absl::Milliseconds(5);
  hello.inventory.owners = {"anna"};
  hello.inventory.devices = {{.index = 0, .kind = protocol::DeviceKind::kGpu, .uuid = "GPU-1"}};
  const v1::WorkerMessage message = ToProto(hello);
  EXPECT_EQ(message.said_us(), 5'000);
  const v1::Hello& out = message.hello();
  EXPECT_EQ(out.protocol_version(), kProtocolVersion);
  EXPECT_EQ(out.node(), "pc1");
  EXPECT_EQ(out.incarnation(), 7u);
  EXPECT_EQ(out.boot_id(), "boot");
  EXPECT_EQ(out.address(), "10.0.0.1");
  EXPECT_TRUE(out.resumed());
  EXPECT_EQ(out.reclaim_left_ms(), 90'000);
  EXPECT_EQ(out.inventory().owners(0), "anna");
  EXPECT_EQ(out.inventory().devices(0).kind(), v1::DEVICE_KIND_GPU);
  EXPECT_EQ(out.attempts(0).ranks(0).started_ago_us(), 5'000'000);
  EXPECT_TRUE(out.attempts(0).store_lost());
  EXPECT_EQ(out.attempts(0).store_lost_ago_us(), 4'000'000);
  EXPECT_FALSE(out.attempts(0).ranks(0).has_exit());
  EXPECT_EQ(out.attempts(0).ranks(1).exit().signal(), 9);
  EXPECT_FALSE(out.attempts(0).ranks(1).exit().has_exit_code());
  EXPECT_EQ(out.attempts(0).ranks(1).exit().message(), "bad \xEF\xBF\xBD bytes");
  EXPECT_EQ(out.attempts(0).ranks(1).ended_ago_us(), 7);
}

TEST(ConvertTest, WithoutALimitIsZeroAndBack) {
  EXPECT_EQ(ToProto(protocol::OwnerChanged{.reclaimed = true}).owner_changed().for_ms(), 0);
  // Rounding never turns a limit into "none".
  protocol::OwnerChanged almost_over{.reclaimed = true};
  almost_over.duration = absl::Microseconds(10);
  EXPECT_EQ(ToProto(almost_over).owner_changed().for_ms(), 1);
  v1::CoordinatorMessage message;
  message.mutable_set_owner()->set_reclaimed(true);
  EXPECT_FALSE(std::get<protocol::SetOwner>(*FromProto(message)).left);
  EXPECT_FALSE(std::get<protocol::SetOwner>(*FromProto(message)).grace);
  message.mutable_set_owner()->set_left_ms(5);
  message.mutable_set_owner()->set_grace_ms(0);
  EXPECT_EQ(std::get<protocol::SetOwner>(*FromProto(message)).left, absl::Milliseconds(5));
  EXPECT_EQ(std::get<protocol::SetOwner>(*FromProto(message)).grace, absl::ZeroDuration());
}

TEST(ConvertTest, ARefusalKeepsItsCodeAndWords) {
  const v1::WorkerMessage message =
      ToProto(protocol::Prepared{{1, 1}, absl::NotFoundError("pc1: command 'x' was not found")});
  EXPECT_EQ(message.prepared().error_code(), 5);
  EXPECT_EQ(message.prepared().error(), "pc1: command 'x' was not found");
}

TEST(ConvertTest, HowItsRanksAreRecalledIsToldAndHeardWhole) {
  const v1::WorkerMessage message =
      ToProto(protocol::Prepared{{1, 1}, absl::OkStatus(), "", 0, true, {4711, "key", "proof"}});
  EXPECT_EQ(message.prepared().recall_port(), 4711);
  EXPECT_EQ(message.prepared().recall_key(), "key");
  EXPECT_EQ(message.prepared().recall_proof(), "proof");

  v1::CoordinatorMessage told;
  v1::Recall* in = told.mutable_recall();
  in->mutable_ref()->set_run(12);
  in->mutable_ref()->set_number(2);
  in->set_node("pc2");
  in->set_address("10.0.0.2");
  in->set_port(4711);
  in->set_key("key");
  in->set_proof("proof");
  in->set_grace_ms(500);
  const protocol::Recall out = std::get<protocol::Recall>(*FromProto(told));
  EXPECT_EQ(out.ref, (AttemptRef{12, 2}));
  EXPECT_EQ(out.node, "pc2");
  EXPECT_EQ(out.address, "10.0.0.2");
  EXPECT_EQ(out.access.port, 4711);
  EXPECT_EQ(out.access.key, "key");
  EXPECT_EQ(out.access.proof, "proof");
  EXPECT_EQ(out.grace, absl::Milliseconds(500));

  const v1::WorkerMessage failed =
      ToProto(protocol::Recalled{{12, 2}, "pc2", absl::UnavailableError("refused")});
  EXPECT_EQ(failed.recalled().node(), "pc2");
  EXPECT_EQ(failed.recalled().error(), "refused");
  EXPECT_EQ(ToProto(protocol::Recalled{{12, 2}, "pc2", absl::OkStatus()}).recalled().error(), "");
}

TEST(ConvertTest, AgesAreExactToTheMicrosecond) {
  protocol::RankEnded ended{{1, 1}, 3, {}, {absl::Microseconds(5678), absl::Microseconds(1234)}};
  ended.exit.exit_code = 0;
  ended.exit.words_before_end = absl::Microseconds(77);
  const v1::WorkerMessage message = ToProto(ended);
  EXPECT_EQ(message.rank_ended().started_ago_us(), 5678);
  EXPECT_EQ(message.rank_ended().ended_ago_us(), 1234);
  EXPECT_EQ(message.rank_ended().exit().words_before_end_us(), 77);
  EXPECT_TRUE(message.rank_ended().exit().has_exit_code());
}

TEST(ConvertTest, OutputKeepsItsBytes) {
  const std::string bytes("a\0\xff", 3);
  EXPECT_EQ(ToProto(protocol::LogData{{{1, 2}, 3, true}, 4, bytes}).log_data().data(), bytes);
}

TEST(ConvertTest, APreparationArrivesWhole) {
  v1::CoordinatorMessage message;
  v1::Prepare* in = message.mutable_prepare();
  in->set_user("anna");
  in->mutable_ref()->set_run(12);
  in->mutable_ref()->set_number(2);
  in->add_devices(1);
  in->set_first_rank(4);
  in->set_ranks(2);
  in->set_world_size(8);
  v1::Peer* peer = in->add_peers();
  peer->set_node("pc1");
  peer->set_address("10.0.0.1");
  in->set_mode(v1::LAUNCH_MODE_PER_NODE);
  in->set_store_host(v1::STORE_HOST_RANK0);
  in->set_stop_grace_ms(1500);
  in->add_command("python");
  v1::KeyValue* env = in->add_env();
  env->set_key("A");
  env->set_value("1");
  in->set_legacy_local_rank(v1::LEGACY_LOCAL_RANK_UNDERSCORE);
  const protocol::Prepare out = std::get<protocol::Prepare>(*FromProto(message));
  EXPECT_EQ(out.user, "anna");
  EXPECT_EQ(out.ref, (AttemptRef{12, 2}));
  EXPECT_EQ(out.devices, std::vector<int32_t>{1});
  EXPECT_EQ(out.peers[0].address, "10.0.0.1");
  EXPECT_EQ(out.mode, protocol::LaunchMode::kPerNode);
  EXPECT_EQ(out.store_host, protocol::StoreHost::kRank0);
  EXPECT_EQ(out.stop_grace, absl::Milliseconds(1500));
  EXPECT_EQ(out.command, std::vector<std::string>{"python"});
  EXPECT_EQ(out.env, (protocol::KeyValues{{"A", "1"}}));
  EXPECT_EQ(out.legacy_local_rank, protocol::LegacyLocalRank::kUnderscore);
}

TEST(ConvertTest, AGraceIsNeitherNegativeNorForEver) {
  v1::CoordinatorMessage message;
  message.mutable_stop()->set_grace_ms(-1);
  EXPECT_EQ(std::get<protocol::Stop>(*FromProto(message)).grace, absl::ZeroDuration());
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  message.mutable_stop()->set_grace_ms(kMax);
  EXPECT_EQ(std::get<protocol::Stop>(*FromProto(message)).grace, absl::Hours(365 * 24));
  message.mutable_prepare()->set_stop_grace_ms(kMax);
  EXPECT_EQ(std::get<protocol::Prepare>(*FromProto(message)).stop_grace, absl::Hours(365 * 24));
}

TEST(ConvertTest, NoSpanOfAWelcomeIsForEver) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  v1::CoordinatorMessage message;
  v1::Welcome* in = message.mutable_welcome();
  in->set_lease_ms(kMax);
  in->set_heartbeat_interval_ms(kMax);
  in->set_stop_after_disconnect_ms(kMax);
  in->set_contact_limit_ms(kMax);
  in->set_vouch_limit_ms(kMax);
  const protocol::Welcome welcome = std::get<protocol::Welcome>(*FromProto(message));
  for (const absl::Duration span :
       {welcome.lease, welcome.heartbeat_interval, welcome.stop_after_disconnect,
        welcome.contact_limit, welcome.vouch_limit}) {
    EXPECT_EQ(span, protocol::kMaxSpan);
  }
}

TEST(ConvertTest, AWelcomeThatLeavesSomethingOutKeepsItsDefault) {
  v1::CoordinatorMessage message;
  message.mutable_welcome()->set_lease_ms(9'000);
  const protocol::Welcome welcome = std::get<protocol::Welcome>(*FromProto(message));
  EXPECT_EQ(welcome.lease, absl::Seconds(9));
  EXPECT_EQ(welcome.heartbeat_interval, absl::Seconds(2));
}

TEST(ConvertTest, WhatANewerCoordinatorSaysIsPassedOver) {
  EXPECT_FALSE(FromProto(v1::CoordinatorMessage()));
}

TEST(ConvertTest, WhatIsSaidOfWitnessedAttempts) {
  v1::CoordinatorMessage message;
  message.mutable_heard()->set_sent_us(5);
  EXPECT_EQ(std::get<protocol::Heard>(*FromProto(message)).sent.since_zero, absl::Microseconds(5));
  v1::Doubt* doubt = message.mutable_doubt();
  doubt->mutable_ref()->set_run(12);
  doubt->set_span_ms(3000);
  doubt->set_asked_us(7);
  const protocol::Doubt asked = std::get<protocol::Doubt>(*FromProto(message));
  EXPECT_EQ(asked.ref.run, 12);
  EXPECT_EQ(asked.span, absl::Seconds(3));
  EXPECT_EQ(ToProto(protocol::Doubted{asked.ref, asked.asked}).doubted().asked_us(), 7);
  message.mutable_start()->set_witnessed(true);
  EXPECT_TRUE(std::get<protocol::Start>(*FromProto(message)).witnessed);
  message.mutable_welcome()->set_contact_limit_ms(500);
  EXPECT_EQ(std::get<protocol::Welcome>(*FromProto(message)).contact_limit,
            absl::Milliseconds(500));
  EXPECT_EQ(std::get<protocol::Welcome>(*FromProto(message)).vouch_limit, absl::Seconds(2))
      << "not told";
}

}  // namespace
}  // namespace hpc::worker
