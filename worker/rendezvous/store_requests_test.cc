#include "worker/rendezvous/store_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/status_matchers.h"
#include "worker/rendezvous/testing/test_bytes.h"

namespace hpc::worker::store {
namespace {

using hpc::testing::StatusIs;
using namespace testing;  // NOLINT: the requests' names
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ClientId = StoreRequests::ClientId;

const std::string kStop = U8(0);
const std::string kCanceled = U8(1);

// Takes everything that the client can be sent.
std::string Take(StoreRequests& core, ClientId id) {
  std::string all;
  while (!core.Output(id).empty()) {
    const std::string output(core.Output(id));
    all += output;
    core.Sent(id, output.size());
  }
  return all;
}

std::string Ask(StoreRequests& core, ClientId id, absl::string_view bytes) {
  core.Receive(id, bytes);
  return Take(core, id);
}

ClientId Greeted(StoreRequests& core, const std::string& address = "10.0.0.1") {
  const ClientId id = core.Connect(address);
  core.Receive(id, Hello());
  return id;
}

// For every operation: its type byte in either numbering, its arguments, its answer, and what keys
// k and m hold afterwards. Before each operation the store has k = "v", n = "41" and a queue q of
// "x" and "y".
struct OperationCase {
  std::string name;
  uint8_t type;
  std::optional<uint8_t> legacy_type;
  std::string arguments;
  std::string answer;
  std::string k = "v";
  std::string m = "";
};

std::vector<OperationCase> OperationCases() {
  return {
      {"Set", 1, 0, Text("k") + Text("w"), "", "w"},
      {"CompareSetHit", 2, 1, Text("k") + Text("v") + Text("w"), Text("w"), "w"},
      {"CompareSetMiss", 2, 1, Text("k") + Text("u") + Text("w"), Text("v")},
      {"CompareSetNew", 2, 1, Text("m") + Text("") + Text("w"), Text("w"), "v", "w"},
      {"CompareSetMissing", 2, 1, Text("m") + Text("u") + Text("w"), Text("u")},
      {"Get", 3, 2, Text("k"), Text("v")},
      {"GetMissing", 3, 2, Text("m"), Text("")},
      {"Add", 4, 3, Text("n") + I64(1), I64(42)},
      {"AddNegative", 4, 3, Text("n") + I64(-42), I64(-1)},
      {"AddMissing", 4, 3, Text("m") + I64(5), I64(5), "v", "5"},
      {"CheckReady", 5, 4, U64(2) + Text("k") + Text("n"), U8(0)},
      {"CheckNotReady", 5, 4, U64(2) + Text("k") + Text("m"), U8(1)},
      {"CheckQueue", 5, 4, U64(1) + Text("q"), U8(0)},
      {"WaitReady", 6, 5, U64(2) + Text("k") + Text("q"), kStop},
      {"WaitForNothing", 6, 5, U64(0), kStop},
      {"GetNumKeys", 7, 6, "", I64(2)},
      {"DeleteKey", 8, 8, Text("k"), I64(1), ""},
      {"DeleteMissing", 8, 8, Text("m"), I64(0)},
      {"Append", 9, 9, Text("k") + Text("w"), "", "vw"},
      {"AppendMissing", 9, 9, Text("m") + Text("w"), "", "v", "w"},
      {"MultiGet", 10, 10, U64(3) + Text("k") + Text("m") + Text("n"),
       Text("v") + Text("") + Text("41")},
      {"MultiSet", 11, 11, U64(2) + Text("k") + Text("1") + Text("m") + Text("2"), "", "1", "2"},
      {"CancelNothing", 12, 12, "", kCanceled},
      {"Ping", 13, std::nullopt, U32(4711), U32(4711)},
      {"QueuePush", 14, std::nullopt, Text("q") + Text("z"), ""},
      {"QueuePop", 15, std::nullopt, Text("q"), I64(2) + Text("x")},
      {"QueuePopEmpty", 15, std::nullopt, Text("k"), I64(0)},
      {"QueueLen", 16, std::nullopt, Text("q"), I64(2)},
      {"QueueLenMissing", 16, std::nullopt, Text("m"), I64(0)},
      {"ListKeys", 17, std::nullopt, "", I64(2) + Text("k") + Text("n")},
      {"BarrierOfOne", 18, std::nullopt, Text("m") + I64(1), kStop, "v", "1"},
  };
}

std::vector<OperationCase> LegacyCases() {
  std::vector<OperationCase> cases = OperationCases();
  std::erase_if(cases, [](const OperationCase& one) { return !one.legacy_type.has_value(); });
  return cases;
}

std::string NameOf(const ::testing::TestParamInfo<OperationCase>& info) { return info.param.name; }

// Sets up the store before each case, and tells what the store has after it.
class Bystander {
 public:
  explicit Bystander(StoreRequests& core) : core_(core), id_(Greeted(core)) {
    core_.Receive(id_, Set("k", "v") + Set("n", "41") + QueuePush("q", "x") + QueuePush("q", "y"));
  }
  void ExpectAfter(const OperationCase& one) {
    EXPECT_EQ(Ask(core_, id_, Get("k") + Get("m")), Text(one.k) + Text(one.m));
  }

 private:
  StoreRequests& core_;
  ClientId id_;
};

class OperationTest : public ::testing::TestWithParam<OperationCase> {};
class LegacyOperationTest : public ::testing::TestWithParam<OperationCase> {};

TEST_P(OperationTest, IsAnswered) {
  StoreRequests core;
  Bystander bystander(core);
  const ClientId id = Greeted(core);
  EXPECT_EQ(Ask(core, id, U8(GetParam().type) + GetParam().arguments), GetParam().answer);
  EXPECT_OK(core.Failure(id));
  bystander.ExpectAfter(GetParam());
}

TEST_P(OperationTest, IsAnsweredHoweverItsBytesAreCut) {
  const std::string bytes = Hello() + U8(GetParam().type) + GetParam().arguments;
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    StoreRequests core;
    Bystander bystander(core);
    const ClientId id = core.Connect("10.0.0.1");
    const std::string first = Ask(core, id, bytes.substr(0, cut));
    EXPECT_EQ(first + Ask(core, id, bytes.substr(cut)), GetParam().answer) << "cut at " << cut;
    bystander.ExpectAfter(GetParam());
  }
}

TEST_P(LegacyOperationTest, IsAnswered) {
  StoreRequests core;
  Bystander bystander(core);
  const ClientId id = core.Connect("10.0.0.1");
  EXPECT_EQ(Ask(core, id, U8(*GetParam().legacy_type) + GetParam().arguments), GetParam().answer);
  EXPECT_OK(core.Failure(id));
  bystander.ExpectAfter(GetParam());
}

TEST_P(LegacyOperationTest, IsAnsweredHoweverItsBytesAreCut) {
  const std::string bytes = U8(*GetParam().legacy_type) + GetParam().arguments;
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    StoreRequests core;
    Bystander bystander(core);
    const ClientId id = core.Connect("10.0.0.1");
    const std::string first = Ask(core, id, bytes.substr(0, cut));
    EXPECT_EQ(first + Ask(core, id, bytes.substr(cut)), GetParam().answer) << "cut at " << cut;
    bystander.ExpectAfter(GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(All, OperationTest, ::testing::ValuesIn(OperationCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(All, LegacyOperationTest, ::testing::ValuesIn(LegacyCases()), NameOf);

TEST(StoreRequestsTest, WritesAreSeenByOtherClients) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  core.Receive(
      ann, Set("k", "v") + U8(9) + Text("k") + Text("w") + U8(11) + U64(1) + Text("l") + Text("x"));
  EXPECT_EQ(Ask(core, bob, Get("k") + Get("l")), Text("vw") + Text("x"));
}

TEST(StoreRequestsTest, AnswersTheBytesOfARealSession) {
  // These are the bytes that torch 2.13 sends to join: VALIDATE, PING with pid 1234, ADD init/ 1.
  StoreRequests core;
  const ClientId id = core.Connect("10.0.0.1");
  const std::string sent =
      Hex("00cef7853c"
          "0dd2040000"
          "040500000000000000696e69742f0100000000000000");
  EXPECT_EQ(absl::BytesToHexString(Ask(core, id, sent)), "d20400000100000000000000");
}

TEST(StoreRequestsTest, AWaitIsAnsweredWhenItsLastKeyComes) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  EXPECT_EQ(Ask(core, ann, U8(6) + U64(2) + Text("a") + Text("b")), "");
  core.Receive(bob, Set("a", "1"));
  EXPECT_EQ(Take(core, ann), "");
  core.Receive(bob, Set("b", "2"));
  EXPECT_EQ(Take(core, ann), kStop);
}

TEST(StoreRequestsTest, TouchedAreThoseWithOutput) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  core.Receive(ann, Wait("k"));
  EXPECT_THAT(core.TakeTouched(), IsEmpty());
  core.Receive(bob, Set("k", "v"));
  EXPECT_THAT(core.TakeTouched(), ElementsAre(ann));
  EXPECT_THAT(core.TakeTouched(), IsEmpty());
}

TEST(StoreRequestsTest, AnswersKeepTheOrderOfTheRequests) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  EXPECT_EQ(Ask(core, ann, Wait("k") + GetNumKeys() + Wait("l") + GetNumKeys()), "");
  core.Receive(bob, Set("l", ""));
  EXPECT_EQ(Take(core, ann), "");
  core.Receive(bob, Set("k", ""));
  EXPECT_EQ(Take(core, ann), kStop + I64(0) + kStop + I64(0));
}

TEST(StoreRequestsTest, AClientCanEndItsOwnWait) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  EXPECT_EQ(Ask(core, ann, Wait("k") + Set("k", "v")), kStop);
}

TEST(StoreRequestsTest, ACancelledWaitGetsNoAnswerOfItsOwn) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  core.Receive(ann, Wait("k"));
  EXPECT_EQ(Ask(core, ann, CancelWait()), kCanceled);
  core.Receive(bob, Set("k", ""));
  EXPECT_EQ(Take(core, ann), "");
  EXPECT_EQ(Ask(core, ann, Wait("k")), kStop);
}

TEST(StoreRequestsTest, ACancelThatComesTooLateIsAnsweredToo) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  core.Receive(ann, Wait("k"));
  core.Receive(bob, Set("k", ""));
  EXPECT_EQ(Ask(core, ann, CancelWait()), kStop + kCanceled);
}

TEST(StoreRequestsTest, ACancelledBarrierStillCounts) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  EXPECT_EQ(Ask(core, ann, Barrier("b", 2)), "");
  EXPECT_EQ(Ask(core, ann, CancelWait()), kCanceled);
  EXPECT_EQ(Ask(core, bob, Barrier("b", 2)), kStop);
  EXPECT_EQ(Take(core, ann), "");
}

TEST(StoreRequestsTest, ABarrierIsAnsweredToAllAtOnce) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  EXPECT_EQ(Ask(core, ann, Barrier("b", 2)), "");
  EXPECT_EQ(Ask(core, bob, Barrier("b", 2)), kStop);
  EXPECT_EQ(Take(core, ann), kStop);
  EXPECT_EQ(Ask(core, ann, Get("b")), Text("2"));
}

TEST(StoreRequestsTest, ABlockingPopGetsWhatAnotherPushes) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  EXPECT_EQ(Ask(core, ann, Wait("q")), "");
  core.Receive(bob, QueuePush("q", "x"));
  EXPECT_EQ(Take(core, ann), kStop);
  EXPECT_EQ(Ask(core, ann, QueuePop("q")), I64(1) + Text("x"));
}

TEST(StoreRequestsTest, AClientThatLeftWaitsForNothing) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  core.Receive(ann, Wait("k"));
  core.Disconnect(ann);
  core.Receive(bob, Set("k", ""));
  EXPECT_THAT(core.TakeTouched(), IsEmpty());
  EXPECT_EQ(core.Status().connections, 1);
}

TEST(StoreRequestsTest, AClientFailsByBreakingTheProtocol) {
  StoreRequests core;
  const ClientId id = core.Connect("10.0.0.1");
  core.Receive(id, Hex("0012345678"));
  EXPECT_THAT(core.Failure(id), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("magic")));
  EXPECT_THAT(core.TakeTouched(), ElementsAre(id));
  EXPECT_FALSE(core.WantsInput(id));
}

TEST(StoreRequestsTest, AClientFailsByAddingToText) {
  StoreRequests core;
  const ClientId id = Greeted(core);
  EXPECT_EQ(Ask(core, id, Set("k", "text") + Add("k", 1) + Set("k", "later")), "");
  EXPECT_THAT(core.Failure(id), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_EQ(Ask(core, Greeted(core), Get("k")), Text("text"));
}

TEST(StoreRequestsTest, AClientFailsByFillingTheStore) {
  StoreRequests core(/*max_table_bytes=*/1000);
  const ClientId id = Greeted(core);
  core.Receive(id, Set("k", std::string(1000, 'v')));
  EXPECT_THAT(core.Failure(id), StatusIs(absl::StatusCode::kResourceExhausted, _));
}

TEST(StoreRequestsTest, AClientFailsByWaitingTooOften) {
  StoreRequests core;
  const ClientId id = Greeted(core);
  for (size_t i = 0; i < kMaxDeferred; ++i) core.Receive(id, Wait("k"));
  EXPECT_OK(core.Failure(id));
  core.Receive(id, Wait("k"));
  EXPECT_THAT(core.Failure(id), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("16")));
  EXPECT_EQ(core.Status().waiting, 0);
}

TEST(StoreRequestsTest, AClientMustTakeItsOutputBeforeItIsAnsweredFurther) {
  StoreRequests core;
  const ClientId id = Greeted(core);
  core.Receive(id, Set("k", std::string(kMaxUnsentBytes, 'v')));
  EXPECT_TRUE(core.WantsInput(id));
  core.Receive(id, Get("k") + Get("k") + GetNumKeys());
  const size_t one_answer = 8 + kMaxUnsentBytes;
  EXPECT_EQ(core.Output(id).size(), one_answer);
  EXPECT_FALSE(core.WantsInput(id));
  core.Sent(id, one_answer);
  EXPECT_EQ(core.Output(id).size(), one_answer);
  core.Sent(id, one_answer);
  EXPECT_EQ(Take(core, id), I64(1));
  EXPECT_TRUE(core.WantsInput(id));
}

TEST(StoreRequestsTest, AMultiGetOfLargeValuesIsAnsweredPieceByPiece) {
  StoreRequests core;
  const ClientId id = Greeted(core);
  core.Receive(id, Set("k", std::string(kMaxUnsentBytes, 'v')));
  std::string many = U8(10) + U64(100);
  for (int i = 0; i < 100; ++i) many += Text("k");
  core.Receive(id, many);
  EXPECT_LE(core.Output(id).size(), kMaxUnsentBytes + 8);
  EXPECT_EQ(Take(core, id).size(), 100 * (kMaxUnsentBytes + 8));
}

TEST(StoreRequestsTest, StatusSaysWhoHasCome) {
  StoreRequests core;
  const ClientId ann = Greeted(core, "10.0.0.1");
  const ClientId bob = Greeted(core, "10.0.0.2");
  const ClientId clone = Greeted(core, "10.0.0.1");
  core.Receive(bob, Ping(7));
  core.Receive(ann, Ping(7));
  core.Receive(clone, Ping(7));
  core.Receive(ann, Ping(8));  // not its first one
  core.Disconnect(bob);
  const StoreStatus status = core.Status();
  EXPECT_THAT(status.arrivals, ElementsAre(StoreStatus::Arrival{"10.0.0.2", 7},
                                           StoreStatus::Arrival{"10.0.0.1", 7}));
  EXPECT_EQ(status.connections, 2);
}

TEST(StoreRequestsTest, StatusNamesTheKeyThatMostAreBlockedOn) {
  StoreRequests core;
  const ClientId ann = Greeted(core);
  const ClientId bob = Greeted(core);
  const ClientId eve = Greeted(core);
  core.Receive(eve, Wait("/0"));
  core.Receive(ann, Wait("/default_pg/0//cpu//0/2"));
  core.Receive(bob, Wait("/default_pg/0//cpu//0/2"));
  EXPECT_EQ(core.Status().blocked_key, "/default_pg/0//cpu//0/2");
  EXPECT_EQ(core.Status().waiting, 3);
  core.Receive(eve, CancelWait() + Set("/default_pg/0//cpu//0/2", "address"));
  EXPECT_EQ(core.Status().blocked_key, "");
  EXPECT_EQ(core.Status().waiting, 0);
}

TEST(StoreRequestsTest, ABlockedKeyIsReportedAsValidText) {
  StoreRequests core;
  core.Receive(Greeted(core), Wait("a\xff"));
  EXPECT_EQ(core.Status().blocked_key, "a\xEF\xBF\xBD");
}

TEST(StoreRequestsTest, TheVersionGrowsWithWhatIsReported) {
  StoreRequests core;
  const ClientId id = Greeted(core);
  uint64_t version = core.version();
  const auto changed_by = [&](const std::string& bytes) {
    core.Receive(id, bytes);
    const bool changed = core.version() > version;
    version = core.version();
    return changed;
  };
  EXPECT_TRUE(changed_by(Ping(7)));
  EXPECT_FALSE(changed_by(Ping(7)));
  EXPECT_FALSE(changed_by(Set("k", "v")));
  EXPECT_FALSE(changed_by(Wait("k")));
  EXPECT_TRUE(changed_by(Wait("l")));
  EXPECT_TRUE(changed_by(CancelWait()));
}

}  // namespace
}  // namespace hpc::worker::store
