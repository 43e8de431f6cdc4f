// A worker whose state directory is on a disk that hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>

#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "tests/testing/disk/freezing_disk.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/peers/store_port.h"
#include "worker/owner/owner_file.h"
#include "worker/rendezvous/testing/test_bytes.h"
#include "worker/runtime/testing/engine_rig.h"

namespace hpc::worker {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr AttemptRef kRef{12, 1};

bool Tell(int fd, const std::string& bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

bool Answered(int fd, const std::string& bytes) {
  std::string answer(bytes.size(), '\0');
  return recv(fd, answer.data(), answer.size(), 0) == static_cast<ssize_t>(bytes.size()) &&
         answer == bytes;
}

class HungDiskTest : public EngineRig {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "no disk can be mounted here";
    StartWorker();
    Connect();
  }
  ~HungDiskTest() override { KillWorker(); }

  OwnerAnswer Reclaim() {
    YieldRequest request;
    request.grace = absl::ZeroDuration();
    std::optional<OwnerAnswer> answered;
    engine_->Reclaim(request, [&](const OwnerAnswer& answer) { answered = answer; });
    RunUntil([&] { return answered.has_value(); });
    return answered.value_or(OwnerAnswer());
  }

  hpc::testing::FreezingDisk disk_{dir_};
};

TEST_F(HungDiskTest, AReclaimReturnsThePcAndIsSavedLater) {
  RunAttempt(ShellAttempt(kRef, "while :; do echo line; sleep 0.01; done"));
  RunUntil([&] { return !OutputOf(kRef, 0, false).empty(); });
  ASSERT_TRUE(disk_.Freeze());
  const OwnerAnswer answer = Reclaim();
  EXPECT_FALSE(answer.saved);
  EXPECT_EQ(engine_->agent().live_attempts(), 0);
  EXPECT_THAT(link_->Heard<protocol::AttemptReturned>(), SizeIs(1));
  EXPECT_FALSE(ReadOwnerFile(dir_)->reclaimed);
  disk_.Thaw();
  RunUntil([&] { return ReadOwnerFile(dir_)->reclaimed; });
}

TEST_F(HungDiskTest, AFreePcIsReturnedAtOnceThoughTheWishIsNotSaved) {
  ASSERT_TRUE(disk_.Freeze());
  EXPECT_FALSE(Reclaim().saved);
  disk_.Thaw();
  EXPECT_TRUE(Reclaim().saved);
}

TEST_F(HungDiskTest, WhatIsBeingPreparedIsGivenUp) {
  ASSERT_TRUE(disk_.Freeze());
  link_->Say(ShellAttempt(kRef, "true"));
  RunUntil([&] { return engine_->agent().live_attempts() == 1; });
  Reclaim();
  EXPECT_EQ(engine_->agent().live_attempts(), 0);
  EXPECT_THAT(link_->Heard<protocol::AttemptReturned>(), SizeIs(1));
  disk_.Thaw();
  link_->Say(protocol::Forget{kRef});
  RunUntil([&] { return engine_->agent().attempts().empty(); });
  EXPECT_THAT(link_->Heard<protocol::Prepared>(), IsEmpty());
}

TEST_F(HungDiskTest, TheCoordinatorStillHears) {
  RunAttempt(ShellAttempt(kRef, "exec sleep 1000"));
  ASSERT_TRUE(disk_.Freeze());
  protocol::Prepare next = ShellAttempt({13, 1}, "true");
  next.devices = {1};
  link_->Say(next);
  const int before = link_->heartbeats;
  RunUntil([&] { return link_->heartbeats > before + 2; });
  disk_.Thaw();
  RunUntil([&] { return link_->Heard<protocol::Prepared>().size() == 2; });
  EXPECT_OK(link_->Heard<protocol::Prepared>()[1].status);
  Reclaim();
}

TEST_F(HungDiskTest, RanksStillMeetAtTheStore) {
  RunAttempt(ShellAttempt(kRef, "exec sleep 1000"));
  ASSERT_TRUE(disk_.Freeze());
  const UniqueFd rank(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(link_->Heard<protocol::Prepared>()[0].store_port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)connect(rank.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  RunUntil([&] { return Tell(rank.get(), store::testing::Hello() + store::testing::Ping(7)); });
  RunUntil([&] { return Answered(rank.get(), store::testing::U32(7)); });
  RunUntil([&] { return !link_->Heard<protocol::RendezvousReport>().empty(); });
  EXPECT_THAT(link_->Heard<protocol::RendezvousReport>().back().arrivals, SizeIs(1));
  disk_.Thaw();
  RunUntil([&] { return ReadStoreRecord(AttemptDir(dir_, kRef))->arrived == 1; });
  Reclaim();
}

}  // namespace
}  // namespace hpc::worker
