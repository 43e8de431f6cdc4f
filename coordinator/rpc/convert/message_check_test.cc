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
