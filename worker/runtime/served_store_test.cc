// The rendezvous store of an attempt, from its first rank until the attempt is over on all nodes.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <string>

#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/peers/store_port.h"
#include "worker/rendezvous/testing/test_bytes.h"
#include "worker/runtime/testing/engine_rig.h"

namespace hpc::worker {
namespace {

using ::testing::SizeIs;

constexpr AttemptRef kRef{12, 1};

// A rank, as the rendezvous store sees it. It has connected when this is made, if the port is open.
class StoreClient {
 public:
  explicit StoreClient(const protocol::Prepared& prepared)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(prepared.store_port));
    inet_pton(AF_INET, prepared.store_addr.c_str(), &address.sin_addr);
    const int result =
        connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (result == 0) Send(store::testing::Hello());
    if (result != 0) socket_.Reset();
  }
  bool connected() const { return socket_.ok(); }
  void Send(const std::string& bytes) {
    EXPECT_EQ(send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // What has come since the last call.
  std::string Received() {
    char bytes[1000];
    const ssize_t n = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return std::string(bytes, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
  bool Closed() {
    char byte;
    return recv(socket_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  }

 private:
  UniqueFd socket_;
};

class ServedStoreTest : public EngineRig {
 protected:
  void SetUp() override {
    StartWorker();
    Connect();
  }
};

TEST_F(ServedStoreTest, AStoreThatDiedWithTheWorkerIsOwnedUpTo) {
  RunAttempt(ShellAttempt(kRef, "exec sleep 1000"));
  KillWorker();
  auto store = ReadStoreRecord(AttemptDir(dir_, kRef));
  ASSERT_TRUE(store);
  ASSERT_OK(AddArrivals(AttemptDir(dir_, kRef), store->world_size));
  StartWorker();
  RunUntil([&] { return link_->open; });
  EXPECT_TRUE(link_->hellos[0].attempts.at(0).store_lost);
  EXPECT_FALSE(link_->hellos[0].attempts.at(0).returned);
}

TEST_F(ServedStoreTest, AStoreThatDiedAfterItsPartHadReturnedIsOwnedUpToIfAnyRankHadCome) {
  for (const int32_t arrived : {0, 1}) {
    const AttemptRef ref{20 + arrived, 1};
    protocol::Prepare prepare = ShellAttempt(ref, "exit 0");
    prepare.peers.push_back({"pc2", "127.0.0.2", 1, 1});
    prepare.world_size = 2;
    RunAttempt(prepare);
    WaitReturned(ref);
    ASSERT_OK(AddArrivals(AttemptDir(dir_, ref), arrived));
  }
  KillWorker();
  StartWorker();
  RunUntil([&] { return link_->open; });
  ASSERT_THAT(link_->hellos[0].attempts, SizeIs(2));
  EXPECT_FALSE(link_->hellos[0].attempts[0].store_lost);
  EXPECT_TRUE(link_->hellos[0].attempts[1].store_lost);
}

TEST_F(ServedStoreTest, TheStoreIsServedUntilTheAttemptIsOver) {
  RunAttempt(ShellAttempt(kRef, "exit 0"));
  WaitReturned(kRef);
  const protocol::Prepared prepared = link_->Heard<protocol::Prepared>()[0];
  StoreClient rank(prepared);
  ASSERT_TRUE(rank.connected());
  rank.Send(store::testing::Set("k", "v") + store::testing::Get("k"));
  std::string answer;
  RunUntil([&] { return !(answer += rank.Received()).empty(); });
  EXPECT_EQ(answer, store::testing::Text("v"));
  link_->Say(protocol::Forget{kRef});
  EXPECT_TRUE(rank.Closed());
  EXPECT_FALSE(StoreClient(prepared).connected());
}

TEST_F(ServedStoreTest, WithoutTheCoordinatorTheStoreOfAPartThatHasReturnedIsServedWhileItIsUsed) {
  RunAttempt(ShellAttempt(kRef, "exit 0"));
  WaitReturned(kRef);
  const protocol::Prepared prepared = link_->Heard<protocol::Prepared>()[0];
  auto rank = std::make_optional<StoreClient>(prepared);
  protocol::Welcome welcome;
  welcome.stop_after_disconnect = absl::Milliseconds(1);
  link_->Say(welcome);
  const auto lose_contact = [&] {
    link_->Break(absl::UnavailableError("a cable is out"));
    RunUntil([&] { return link_->open; });
  };
  for (int i = 0; i < 2; ++i) lose_contact();
  ASSERT_TRUE(StoreClient(prepared).connected());
  EXPECT_FALSE(rank->Closed());
  rank.reset();
  RunUntil([&] {
    lose_contact();
    return !StoreClient(prepared).connected();
  });
}

}  // namespace
}  // namespace hpc::worker
