#include "worker/rendezvous/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/status_matchers.h"
#include "worker/rendezvous/testing/test_bytes.h"

namespace hpc::worker::store {
namespace {

using hpc::testing::StatusIs;
using namespace testing;  // NOLINT: the requests' names
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Parsed {
  std::vector<Request> requests;
  absl::Status status;  // OK: more bytes are awaited
};

Parsed Drain(RequestParser& parser) {
  Parsed parsed;
  while (true) {
    absl::StatusOr<std::optional<Request>> next = parser.Next();
    if (!next.ok()) {
      parsed.status = next.status();
      return parsed;
    }
    if (!next->has_value()) return parsed;
    parsed.requests.push_back(std::move(**next));
  }
}

Parsed Parse(absl::string_view bytes) {
  RequestParser parser;
  parser.Append(bytes);
  return Drain(parser);
}

std::string LegacyAdd() { return absl::StrCat(U8(3), Text("init/"), I64(1)); }

const Request kSetRequest{.op = Op::kSet, .key = "k", .value = "v"};

TEST(RequestParserTest, ReadsEveryFieldOfARequest) {
  const std::string bytes = absl::StrCat(Hello(), Set("k", "v"), CompareSet("k", "old", "new"),
                                         Add("n", -5), Ping(4711), Barrier("b", 4));
  EXPECT_THAT(
      Parse(bytes).requests,
      ElementsAre(kSetRequest,
                  Request{.op = Op::kCompareSet, .key = "k", .value = "new", .expected = "old"},
                  Request{.op = Op::kAdd, .key = "n", .number = -5},
                  Request{.op = Op::kPing, .number = 4711},
                  Request{.op = Op::kBarrier, .key = "b", .number = 4}));
}

TEST(RequestParserTest, ReadsListsOfKeys) {
  const std::string bytes =
      absl::StrCat(Hello(), U8(6), U64(3), Text("a"), Text(""), Text("c"), U8(5), U64(0));
  EXPECT_THAT(Parse(bytes).requests, ElementsAre(Request{.op = Op::kWait, .keys = {"a", "", "c"}},
                                                 Request{.op = Op::kCheck}));
}

TEST(RequestParserTest, HandsOutMultiGetAndMultiSetOneByOne) {
  const std::string bytes = absl::StrCat(Hello(), U8(11), U64(2), Text("a"), Text("1"), Text("b"),
                                         Text("2"), U8(10), U64(2), Text("a"), Text("b"), U8(7));
  EXPECT_THAT(Parse(bytes).requests,
              ElementsAre(Request{.op = Op::kSet, .key = "a", .value = "1"},
                          Request{.op = Op::kSet, .key = "b", .value = "2"},
                          Request{.op = Op::kGet, .key = "a"}, Request{.op = Op::kGet, .key = "b"},
                          Request{.op = Op::kGetNumKeys}));
}

TEST(RequestParserTest, AnEmptyMultiGetIsNothing) {
  EXPECT_THAT(Parse(absl::StrCat(Hello(), U8(10), U64(0), U8(11), U64(0), U8(7))).requests,
              ElementsAre(Request{.op = Op::kGetNumKeys}));
}

TEST(RequestParserTest, TellsTheOldNumberingByItsFirstRequest) {
  EXPECT_THAT(Parse(LegacyAdd()).requests,
              ElementsAre(Request{.op = Op::kAdd, .key = "init/", .number = 1}));
  EXPECT_THAT(Parse(absl::StrCat(U8(0), Text("k"), Text("v"))).requests, ElementsAre(kSetRequest));
}

TEST(RequestParserTest, MapsTheOldNumbering) {
  const std::vector<std::pair<std::string, Op>> cases = {
      {absl::StrCat(U8(0), Text("k"), Text("v")), Op::kSet},
      {absl::StrCat(U8(1), Text("k"), Text("e"), Text("v")), Op::kCompareSet},
      {absl::StrCat(U8(2), Text("k")), Op::kGet},
      {absl::StrCat(U8(3), Text("k"), I64(1)), Op::kAdd},
      {absl::StrCat(U8(4), U64(1), Text("k")), Op::kCheck},
      {absl::StrCat(U8(5), U64(1), Text("k")), Op::kWait},
      {U8(6), Op::kGetNumKeys},
      {absl::StrCat(U8(8), Text("k")), Op::kDeleteKey},
      {absl::StrCat(U8(9), Text("k"), Text("v")), Op::kAppend},
      {absl::StrCat(U8(10), U64(1), Text("k")), Op::kGet},
      {absl::StrCat(U8(11), U64(1), Text("k"), Text("v")), Op::kSet},
      {U8(12), Op::kCancelWait},
  };
  for (const auto& [bytes, op] : cases) {
    const Parsed parsed = Parse(absl::StrCat(LegacyAdd(), bytes));
    ASSERT_EQ(parsed.requests.size(), 2u) << absl::BytesToHexString(bytes);
    EXPECT_EQ(parsed.requests[1].op, op) << absl::BytesToHexString(bytes);
  }
}

TEST(RequestParserTest, ReadsTheSameHoweverTheBytesAreCut) {
  const std::string bytes = absl::StrCat(
      Hello(), Set("key", "value"), CompareSet("k", "old", "new"), Add("n", 300), U8(6), U64(2),
      Text("a"), Text("bb"), U8(11), U64(2), Text("a"), Text("1"), Text("b"), Text("22"), Ping(7),
      U8(10), U64(1), Text("a"), GetNumKeys(), Barrier("b", 2));
  const std::vector<Request> whole = Parse(bytes).requests;
  ASSERT_EQ(whole.size(), 10u);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    RequestParser parser;
    parser.Append(absl::string_view(bytes).substr(0, cut));
    Parsed parsed = Drain(parser);
    parser.Append(absl::string_view(bytes).substr(cut));
    for (Request& request : Drain(parser).requests) parsed.requests.push_back(std::move(request));
    ASSERT_EQ(parsed.requests, whole) << "cut at " << cut;
  }
}

TEST(RequestParserTest, ReadsTheSameByteByByteInBothNumberings) {
  const std::string requests = absl::StrCat(U8(9), Text("key"), Text("value"), U8(11), U64(2),
                                            Text("a"), Text("1"), Text("b"), Text("22"), U8(12));
  for (const std::string& start : {Hello(), LegacyAdd()}) {
    const std::string bytes = absl::StrCat(start, requests);
    RequestParser parser;
    std::vector<Request> requests_read;
    for (const char byte : bytes) {
      parser.Append(absl::string_view(&byte, 1));
      for (Request& request : Drain(parser).requests) requests_read.push_back(std::move(request));
    }
    EXPECT_EQ(requests_read, Parse(bytes).requests);
    EXPECT_EQ(parser.buffered(), 0u);
  }
}

TEST(RequestParserTest, RefusesWhatBreaksTheProtocol) {
  const struct {
    std::string bytes;
    std::string message;
  } cases[] = {
      {Hex("00deadbeef"), "VALIDATE with 0xefbeadde"},
      {absl::StrCat(Hello(), Hello()), "a second VALIDATE"},
      {absl::StrCat(Hello(), U8(19)), "unknown request type 19"},
      {absl::StrCat(Hello(), U8(255)), "unknown request type 255"},
      {absl::StrCat(LegacyAdd(), U8(7)), "unknown request type 7 (numbering without VALIDATE)"},
      {absl::StrCat(LegacyAdd(), U8(13)), "unknown request type 13"},
      {absl::StrCat(Hello(), U8(3), U64(8193)), "a key of 8193 bytes; at most 8192"},
      {absl::StrCat(Hello(), U8(3), U64(~uint64_t{0})), "a key of 18446744073709551615 bytes"},
      {absl::StrCat(Hello(), U8(1), Text("k"), U64(8388609)),
       "a value of 8388609 bytes; at most 8388608"},
      {absl::StrCat(Hello(), U8(2), Text("k"), U64(8388609)), "a value of 8388609 bytes"},
      {absl::StrCat(Hello(), U8(2), Text("k"), Text(""), U64(8388609)), "a value of 8388609 bytes"},
      {absl::StrCat(Hello(), U8(6), U64(131073)), "131073 keys in one request; at most 131072"},
      {absl::StrCat(Hello(), U8(5), U64(131073)), "131073 keys"},
      {absl::StrCat(Hello(), U8(10), U64(131073)), "131073 keys"},
      {absl::StrCat(Hello(), U8(11), U64(131073)), "131073 keys"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(Parse(one.bytes).status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(one.message)));
  }
}

TEST(RequestParserTest, AcceptsWhatIsJustWithinTheLimits) {
  const std::string key(kMaxKeyBytes, 'k');
  const std::string value(kMaxValueBytes, 'v');
  EXPECT_THAT(Parse(absl::StrCat(Hello(), Set(key, value))).requests,
              ElementsAre(Request{.op = Op::kSet, .key = key, .value = value}));

  std::string list = absl::StrCat(Hello(), U8(6), U64(kMaxKeysPerRequest));
  for (size_t i = 0; i < kMaxKeysPerRequest; ++i) list += Text("k");
  const Parsed parsed = Parse(list);
  ASSERT_EQ(parsed.requests.size(), 1u);
  EXPECT_EQ(parsed.requests[0].keys.size(), kMaxKeysPerRequest);
}

TEST(RequestParserTest, RefusesAListWithTooManyBytesOfKeys) {
  std::string list = absl::StrCat(Hello(), U8(6), U64(kMaxKeysPerRequest));
  const std::string key(kMaxKeyBytes, 'k');
  for (size_t i = 0; i <= kMaxKeyListBytes / kMaxKeyBytes; ++i) list += Text(key);
  EXPECT_THAT(Parse(list).status, StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("more than 16777216 bytes of keys")));
}

TEST(RequestParserTest, StaysBrokenOnceBroken) {
  RequestParser parser;
  parser.Append(absl::StrCat(Hello(), U8(99)));
  const absl::Status first = Drain(parser).status;
  parser.Append(Set("k", "v"));
  const Parsed later = Drain(parser);
  EXPECT_THAT(later.requests, IsEmpty());
  EXPECT_EQ(later.status, first);
}

TEST(RequestParserTest, KeepsWhatItReadBeforeTheBreak) {
  const Parsed parsed = Parse(absl::StrCat(Hello(), Set("k", "v"), U8(99)));
  EXPECT_THAT(parsed.requests, ElementsAre(kSetRequest));
  EXPECT_FALSE(parsed.status.ok());
}

}  // namespace
}  // namespace hpc::worker::store
