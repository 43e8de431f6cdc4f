#include "worker/runtime/control_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "worker/owner/control_socket.h"
#include "worker/runtime/testing/engine_rig.h"

namespace hpc::worker {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::StatusIs;

UniqueFd OpenConnection(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

class ControlServerTest : public EngineRig {
 protected:
  void SetUp() override {
    StartWorker();
    auto server = ControlServer::Listen(loop_.get(), dir_, engine_.get());
    ASSERT_OK(server);
    server_ = *std::move(server);
  }
  void TearDown() override { server_.reset(); }

  // Asks from a thread, as another process would.
  json Ask(const std::string& request) {
    std::optional<absl::StatusOr<std::string>> answer;
    std::thread client([&] {
      auto got = AskWorker(dir_, request);
      loop_->Post([&, got] { answer = got; });
    });
    RunUntil([&] { return answer.has_value(); });
    client.join();
    EXPECT_OK(*answer);
    return json::parse(answer->value_or("{}"), nullptr, false);
  }

  std::unique_ptr<ControlServer> server_;
};

TEST_F(ControlServerTest, SaysWhatThePcDoes) {
  Connect();
  const json answer = Ask(R"({"command": "status"})");
  EXPECT_EQ(answer["ok"], true);
  EXPECT_EQ(answer["node"], "pc1");
  EXPECT_EQ(answer["connected"], true);
  EXPECT_EQ(answer["reclaimed"], false);
  EXPECT_EQ(answer["attempts"], json::array());
}

TEST_F(ControlServerTest, ListsWhatRuns) {
  Connect();
  RunAttempt(ShellAttempt({12, 1}, "sleep 1000"));
  const json answer = Ask(R"({"command": "status"})");
  EXPECT_EQ(answer["attempts"][0]["attempt"], "12.1");
  EXPECT_EQ(answer["attempts"][0]["phase"], "running");
  EXPECT_EQ(answer["attempts"][0]["ranks"], 1);
}

TEST_F(ControlServerTest, TheOwnerNeedsNoCoordinator) {
  json answer = Ask(R"({"command": "reclaim", "for_ms": 7200000, "reason": "a game"})");
  EXPECT_EQ(answer["ok"], true);
  EXPECT_EQ(answer["connected"], false);
  EXPECT_EQ(answer["reclaimed"], true);
  EXPECT_EQ(answer["left_ms"], 7200000);
  EXPECT_TRUE(answer.contains("took_ms"));
  EXPECT_EQ(answer["saved"], true);
  answer = Ask(R"({"command": "lend"})");
  EXPECT_EQ(answer["reclaimed"], false);
}

TEST_F(ControlServerTest, AReclaimIsAnsweredWhenThePcIsFree) {
  Connect();
  const std::string deaf = dir_ + "/deaf";
  RunAttempt(ShellAttempt({12, 1}, "trap '' TERM; : >" + deaf + "; while :; do sleep 0.05; done"));
  RunUntil([&] { return access(deaf.c_str(), F_OK) == 0; });
  const json answer = Ask(R"({"command": "reclaim", "grace_ms": 300})");
  EXPECT_GE(answer["took_ms"], 300);
  EXPECT_EQ(answer["attempts"], json::array());
}

TEST_F(ControlServerTest, RefusesNonsenseAndChangesNothing) {
  for (const char* request : {"",
                              "nonsense",
                              "{}",
                              "[]",
                              "{\"command\": 3}",
                              "{\"command\": \"format\"}",
                              "{\"command\": \"reclaim\", \"for_ms\": \"long\"}",
                              "{\"command\": \"reclaim\", \"for_ms\": -1}",
                              "{\"command\": \"reclaim\", \"reason\": 3}",
                              "{\"command\": \"\xff\"}",
                              R"({"command": "reclaim", "for": -1})",
                              R"({"command": "reclaim", "for": 1000})",
                              R"({"command": "reclaim", "for_ms": 1.5})",
                              R"({"command": "reclaim", "for_ms": true})",
                              R"({"command": "reclaim", "for_ms": null})",
                              R"({"command": "reclaim", "for_ms": "1000"})",
                              R"({"command": "reclaim", "grace_ms": []})",
                              R"({"command": "reclaim", "reason": null})",
                              R"({"command": "reclaim", "Reason": "x"})",
                              R"({"command": "lend", "for_ms": 1})",
                              R"({"command": "status", "x": 1})",
                              R"({"command": "reclaim"} {"command": "lend"})"}) {
    const json answer = Ask(request);
    EXPECT_EQ(answer["ok"], false) << request;
    EXPECT_NE(answer["error"], "") << request;
    EXPECT_FALSE(engine_->agent().yield().reclaimed());
  }
}

TEST_F(ControlServerTest, AnUnknownKeyIsNamedWithThoseThatAreKnown) {
  EXPECT_EQ(Ask(R"({"command": "reclaim", "for": -1})")["error"],
            "reclaim knows no \"for\"; it takes \"command\", \"for_ms\", \"grace_ms\", \"reason\"");
}

TEST_F(ControlServerTest, TheOwnerGetsThroughWhoeverHoldsConnectionsOpen) {
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(OpenConnection(dir_ + "/worker.sock"));
    ASSERT_EQ(send(idle.back().get(), "{\"comm", 6, MSG_NOSIGNAL), 6);
    loop_->RunOnce(absl::ZeroDuration());
  }
  EXPECT_EQ(Ask(R"({"command": "reclaim"})")["reclaimed"], true);
  EXPECT_EQ(Ask(R"({"command": "status"})")["reclaimed"], true);
}

TEST_F(ControlServerTest, AReclaimThatIsWaitedForKeepsItsConnection) {
  Connect();
  const std::string deaf = dir_ + "/deaf";
  RunAttempt(ShellAttempt({12, 1}, "trap '' TERM; : >" + deaf + "; while :; do sleep 0.05; done"));
  RunUntil([&] { return access(deaf.c_str(), F_OK) == 0; });
  std::optional<absl::StatusOr<std::string>> answer;
  std::thread owner([&] {
    auto got = AskWorker(dir_, R"({"command": "reclaim", "grace_ms": 500})");
    loop_->Post([&, got] { answer = got; });
  });
  RunUntil([&] { return engine_->agent().yield().reclaimed(); });
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(OpenConnection(dir_ + "/worker.sock"));
    loop_->RunOnce(absl::ZeroDuration());
  }
  RunUntil([&] { return answer.has_value(); });
  owner.join();
  ASSERT_OK(*answer);
  EXPECT_THAT(**answer, HasSubstr("took_ms"));
}

TEST_F(ControlServerTest, ARequestWithoutEndIsCutOff) {
  std::optional<absl::StatusOr<std::string>> answer;
  std::thread client([&] {
    auto got = AskWorker(dir_, std::string(200 << 10, ' '));
    loop_->Post([&, got] { answer = got; });
  });
  RunUntil([&] { return answer.has_value(); });
  client.join();
  // Either the words or the end of the connection arrives first.
  EXPECT_THAT(answer->value_or("too long"), HasSubstr("too long"));
}

TEST(AskNoWorkerTest, SaysThatNoWorkerRunsThere) {
  EXPECT_THAT(AskWorker("/tmp/no-such-folder", "{}"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/tmp/no-such-folder")));
  EXPECT_THAT(AskWorker("/tmp", "{}"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--state-dir")));
}

}  // namespace
}  // namespace hpc::worker
