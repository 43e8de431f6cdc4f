#include "coordinator/rpc/convert/message_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "common/version.h"
#include "coordinator/store/logs/log_store.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kTooLarge = absl::StatusCode::kResourceExhausted;

v1::SubmitRequest Good() {
  v1::SubmitRequest request;
  request.mutable_spec()->add_command("python");
  request.mutable_spec()->add_command("train.py");
  request.mutable_spec()->set_workdir("/home/ada");
  return request;
}

TEST(CheckSubmit, TheLeastThatIsEnough) { EXPECT_OK(CheckSubmit(Good())); }

TEST(CheckSubmit, ACommandIsNeeded) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->clear_command();
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("name a program")));
  request.mutable_spec()->add_command("");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("name a program")));
}

TEST(CheckSubmit, ANulByteIsFoundWhereverItIs) {
  const std::string nul("a\0b", 3);
  v1::SubmitRequest request = Good();
  request.mutable_spec()->add_command(nul);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("argument 2 contains a NUL")));
  request = Good();
  request.mutable_spec()->set_name(nul);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("name")));
  request = Good();
  request.mutable_spec()->add_tags(nul);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("tag")));
  request = Good();
  request.mutable_spec()->add_params()->set_key(nul);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("parameter")));
  request = Good();
  v1::KeyValue* variable = request.mutable_spec()->add_env();
  variable->set_key("A");
  variable->set_value(nul);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("environment variable A")));
}

TEST(CheckSubmit, TenMegabytesOfArgumentsAreTooMany) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->add_command(std::string(10'000'000, 'x'));
  EXPECT_THAT(CheckSubmit(request), StatusIs(kTooLarge, HasSubstr("at most 9.5 MiB")));
}

TEST(CheckSubmit, TheDirectoryMustBeAbsolute) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->set_workdir("train");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("'train' is not an absolute")));
}

TEST(CheckSubmit, KeysAreUnique) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->add_params()->set_key("lr");
  request.mutable_spec()->add_params()->set_key("lr");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("lr is given twice")));
  request = Good();
  request.mutable_spec()->add_env()->set_key("PATH");
  request.mutable_spec()->add_env()->set_key("PATH");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("PATH is given twice")));
}

TEST(CheckSubmit, AVariablesNameHasNoEqualsSign) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->add_env()->set_key("A=B");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("contains '='")));
}

TEST(CheckSubmit, WhatIsNotToBeStoredHasAValue) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->add_unstored_env("HF_TOKEN");
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("HF_TOKEN is not to be stored")));
}

TEST(CheckSubmit, NumbersStayInTheirRanges) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->set_min_nodes(-1);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("number of nodes is -1")));
  request = Good();
  request.mutable_spec()->set_priority(1001);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("from -1000 to 1000")));
  request = Good();
  request.mutable_spec()->set_time_limit_ms(-5);
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("time limit")));
}

TEST(CheckSubmit, UnknownEnumsAreNotGuessed) {
  v1::SubmitRequest request = Good();
  request.mutable_spec()->set_mode(static_cast<v1::LaunchMode>(77));
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("launch mode 77")));
}

TEST(CheckSubmit, ARequestIdIsShort) {
  v1::SubmitRequest request = Good();
  request.set_request_id(std::string(65, 'x'));
  EXPECT_THAT(CheckSubmit(request), StatusIs(kInvalid, HasSubstr("request id")));
}

v1::Hello GoodHello() {
  v1::Hello hello;
  hello.set_protocol_version(kProtocolVersion);
  hello.set_node("pc1");
  hello.set_incarnation(7);
  hello.set_address("192.168.1.11");
  return hello;
}

TEST(CheckHello, AnotherProtocolVersionIsNamedWithOurs) {
  EXPECT_OK(CheckHello(GoodHello()));
  v1::Hello hello = GoodHello();
  hello.set_protocol_version(kProtocolVersion + 1);
  EXPECT_THAT(CheckHello(hello), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasSubstr("protocol version 2, this coordinator")));
}

TEST(CheckHello, TheAddressIsAnIpLiteral) {
  v1::Hello hello = GoodHello();
  hello.set_address("pc1.local");
  EXPECT_THAT(CheckHello(hello), StatusIs(kInvalid, HasSubstr("'pc1.local' of node pc1")));
  for (const char* address : {"0.0.0.0", "::", "255.255.255.255", "224.0.0.1", "ff02::1", ""}) {
    hello.set_address(address);
    EXPECT_THAT(CheckHello(hello), StatusIs(kInvalid, HasSubstr("the IP address of one machine")));
  }
  for (const char* address : {"fe80::1", "127.0.0.1", "::1", "192.168.1.11"}) {
    hello.set_address(address);
    EXPECT_OK(CheckHello(hello)) << address;
  }
}

TEST(CheckHello, TheNameIsANodeName) {
  v1::Hello hello = GoodHello();
  hello.set_node("pc 1");
  EXPECT_THAT(CheckHello(hello), StatusIs(kInvalid, HasSubstr("'pc 1' is not a node name")));
}

TEST(CheckLogData, TheOffsetIsOneThatAStreamCanReach) {
  v1::LogData data;
  data.set_data("x");
  data.set_offset(int64_t{1} << 50);
  EXPECT_OK(CheckLogData(data));
  for (const int64_t offset : {int64_t{-1}, INT64_MAX, kMaxLogPosition}) {
    data.set_offset(offset);
    EXPECT_THAT(CheckLogData(data), StatusIs(kInvalid, HasSubstr(absl::StrCat(offset))));
  }
}

TEST(CheckLogEnd, NoMoreIsCutThanAStreamHas) {
  v1::LogEnd end;
  end.set_cut_bytes(5);
  EXPECT_OK(CheckLogEnd(end));
  for (const int64_t cut : {int64_t{-1}, INT64_MAX}) {
    end.set_cut_bytes(cut);
    EXPECT_THAT(CheckLogEnd(end), StatusIs(kInvalid, HasSubstr(absl::StrCat(cut))));
  }
}

TEST(CheckReclaim, TheGraceIsAnHourAtMost) {
  v1::ReclaimRequest request;
  request.set_node("pc1");
  request.set_grace_ms(3'600'000);
  EXPECT_OK(CheckReclaim(request));
  request.set_grace_ms(7'200'000);
  EXPECT_THAT(CheckReclaim(request),
              StatusIs(kInvalid, HasSubstr("the grace is 2 h; it must be from 0 to 1 h")));
}

TEST(CheckWait, TenThousandRunsAreTheMostAndOneTheLeast) {
  v1::WaitRequest request;
  EXPECT_THAT(CheckWait(request), StatusIs(kInvalid, HasSubstr("wait for 0 runs")));
  for (int64_t run = 1; run <= 10'000; ++run) request.add_runs(run);
  EXPECT_OK(CheckWait(request));
  request.add_runs(1);
  EXPECT_THAT(CheckWait(request), StatusIs(kInvalid, HasSubstr("allowed are 1 to 10000")));
}

TEST(CheckListRuns, StatesAreKnownOnes) {
  v1::ListRunsRequest request;
  request.add_states(v1::RUN_STATE_FAILED);
  EXPECT_OK(CheckListRuns(request));
  request.add_states(v1::RUN_STATE_UNSPECIFIED);
  EXPECT_THAT(CheckListRuns(request), StatusIs(kInvalid, HasSubstr("run state 0")));
}

TEST(CheckListEvents, AThousandAreTheMostToBeginWith) {
  v1::ListEventsRequest request;
  EXPECT_OK(CheckListEvents(request));
  request.set_newest(1000);
  EXPECT_OK(CheckListEvents(request));
  request.set_newest(1001);
  EXPECT_THAT(CheckListEvents(request), StatusIs(kInvalid, HasSubstr("is 1001; the most is 1000")));
  request.set_newest(-1);
  EXPECT_THAT(CheckListEvents(request), StatusIs(kInvalid, HasSubstr("newest events")));
}

}  // namespace
}  // namespace hpc::coordinator
