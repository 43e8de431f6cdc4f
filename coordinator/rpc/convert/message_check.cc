#include "coordinator/rpc/convert/message_check.h"

#include <arpa/inet.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/version.h"
#include "coordinator/rpc/convert/limits.h"
#include "coordinator/store/logs/log_store.h"

namespace hpc::coordinator {
namespace {

// Whether the address names one machine. 0.0.0.0 names all, and a multicast address names many.
bool IsIpOfOne(const std::string& address) {
  in_addr four;
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) {
    const uint32_t number = ntohl(four.s_addr);
    return number >> 24 != 0 && number < 0xE0000000;
  }
  in6_addr six;
  return inet_pton(AF_INET6, address.c_str(), &six) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&six) &&
         !IN6_IS_ADDR_MULTICAST(&six);
}

}  // namespace

absl::Status CheckWait(const v1::WaitRequest& request) {
  if (request.runs_size() >= 1 && request.runs_size() <= kMaxWaitedRuns) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("asks to wait for ", request.runs_size(),
                                                 " runs; allowed are 1 to ", kMaxWaitedRuns,
                                                 " in one call"));
}

absl::Status CheckListRuns(const v1::ListRunsRequest& request) {
  for (const int state : request.states()) {
    if (state == v1::RUN_STATE_UNSPECIFIED || !v1::RunState_IsValid(state)) {
      return absl::InvalidArgumentError(absl::StrCat("the run state ", state, " is unknown"));
    }
  }
  HPC_RETURN_IF_ERROR(CheckText("the experiment", request.experiment()));
  HPC_RETURN_IF_ERROR(CheckText("the user", request.user()));
  HPC_RETURN_IF_ERROR(CheckText("the name", request.name()));
  HPC_RETURN_IF_ERROR(CheckText("the tag", request.tag()));
  HPC_RETURN_IF_ERROR(CheckRange("the run to list before", request.before(), 0, INT64_MAX));
  return CheckRange("the number of runs to list", request.limit(), 0, INT64_MAX);
}

absl::Status CheckListEvents(const v1::ListEventsRequest& request) {
  if (request.newest() <= kRowsPerMessage) {
    return CheckRange("the number of newest events", request.newest(), 0, kRowsPerMessage);
  }
  return absl::InvalidArgumentError(absl::StrCat("the number of newest events is ",
                                                 request.newest(), "; the most is ",
                                                 kRowsPerMessage, ", and all come behind event 0"));
}

absl::Status CheckReadLog(const v1::ReadLogRequest& request) {
  return CheckRange("the number of bytes to read", request.last_bytes(), 0, INT64_MAX);
}

absl::Status CheckReclaim(const v1::ReclaimRequest& request) {
  HPC_RETURN_IF_ERROR(CheckNodeName(request.node()));
  HPC_RETURN_IF_ERROR(CheckShortText("the reason", request.reason(), kMaxReason));
  HPC_RETURN_IF_ERROR(CheckSpan("the time", request.for_ms(), INT64_MAX / 1000));
  return CheckSpan("the grace", request.grace_ms(), 3'600'000);
}

absl::Status CheckHello(const v1::Hello& hello) {
  if (hello.protocol_version() < kOldestProtocolVersion ||
      hello.protocol_version() > kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the worker speaks protocol version ", hello.protocol_version(),
        ", this coordinator (release ", Version(), ") versions ", kOldestProtocolVersion, " to ",
        kProtocolVersion, "; install the same release on both"));
  }
  HPC_RETURN_IF_ERROR(CheckNodeName(hello.node()));
  if (hello.incarnation() == 0) return absl::InvalidArgumentError("the hello names no incarnation");
  if (!IsIpOfOne(hello.address())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the address '", absl::CEscape(hello.address()), "' of node ", hello.node(),
                     " is not the IP address of one machine, as 192.168.1.11"));
  }
  return absl::OkStatus();
}

absl::Status CheckLogData(const v1::LogData& data) {
  HPC_RETURN_IF_ERROR(CheckLength("one piece of log data", data.data().size(), kMaxLogData));
  if (data.offset() >= 0 && data.offset() <= kMaxLogPosition - int64_t{kMaxLogData}) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("log data at offset ", data.offset(), ", which no stream reaches"));
}

absl::Status CheckLogEnd(const v1::LogEnd& end) {
  if (end.cut_bytes() >= 0 && end.cut_bytes() <= kMaxLogPosition) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("log end with ", end.cut_bytes(), " bytes cut, which no stream has"));
}

}  // namespace hpc::coordinator
