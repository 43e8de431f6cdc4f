#include "coordinator/rpc/convert/message_check.h"

#include <arpa/inet.h>

#include <set>
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

using KeyValues = google::protobuf::RepeatedPtrField<v1::KeyValue>;
using Texts = google::protobuf::RepeatedPtrField<std::string>;

absl::Status Invalid(const std::string& message) { return absl::InvalidArgumentError(message); }

absl::Status CheckLength(absl::string_view what, size_t bytes, size_t most) {
  if (bytes <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      what, " is ", HumanBytes(bytes), " long; at most ", HumanBytes(most), " are taken"));
}

absl::Status CheckCount(absl::string_view what, int count) {
  if (count <= kMaxPairs) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(count, " ", what, " are too many; at most ", kMaxPairs, " are taken"));
}

absl::Status CheckRange(absl::string_view what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return Invalid(absl::StrCat(what, " is ", value, "; it must be from ", least, " to ", most));
}

// Checks a time span in milliseconds.
absl::Status CheckSpan(absl::string_view what, int64_t span, int64_t most) {
  if (span >= 0 && span <= most) return absl::OkStatus();
  return Invalid(absl::StrCat(what, " is ", HumanDuration(absl::Milliseconds(span)),
                              "; it must be from 0 to ", HumanDuration(absl::Milliseconds(most))));
}

absl::Status CheckShortText(absl::string_view what, const std::string& text, size_t most) {
  HPC_RETURN_IF_ERROR(CheckLength(what, text.size(), most));
  return CheckText(what, text);
}

absl::Status CheckCommand(const Texts& command) {
  if (command.empty() || command.Get(0).empty()) {
    return Invalid("the command is empty; name a program to run");
  }
  size_t bytes = 0;
  for (const std::string& argument : command) bytes += argument.size() + 1;
  HPC_RETURN_IF_ERROR(CheckLength("the command with its arguments", bytes, kMaxCommand));
  for (int i = 0; i < command.size(); ++i) {
    HPC_RETURN_IF_ERROR(CheckText(
        i == 0 ? std::string("the program's name") : absl::StrCat("argument ", i), command.Get(i)));
  }
  return absl::OkStatus();
}

absl::Status CheckWorkdir(const std::string& workdir) {
  HPC_RETURN_IF_ERROR(CheckShortText("the working directory", workdir, kMaxPath));
  if (workdir.empty() || workdir[0] != '/') {
    return Invalid(absl::StrCat("the working directory '", workdir,
                                "' is not an absolute path; nodes do not share a current one"));
  }
  return absl::OkStatus();
}

absl::Status CheckEnvironment(const KeyValues& env, const Texts& unstored) {
  HPC_RETURN_IF_ERROR(CheckCount("environment variables", env.size()));
  std::set<absl::string_view> names;
  size_t bytes = 0;
  for (const v1::KeyValue& pair : env) {
    const std::string& name = pair.key();
    HPC_RETURN_IF_ERROR(CheckName("an environment variable's name", name, kMaxPath));
    if (name.find('=') != std::string::npos) {
      return Invalid(absl::StrCat("the environment variable's name '", name, "' contains '='"));
    }
    HPC_RETURN_IF_ERROR(CheckText(absl::StrCat("the environment variable ", name), pair.value()));
    if (!names.insert(name).second) {
      return Invalid(absl::StrCat("the environment variable ", name, " is given twice"));
    }
    bytes += name.size() + pair.value().size() + 2;
  }
  for (const std::string& name : unstored) {
    if (!names.contains(name)) {
      return Invalid(absl::StrCat("the environment variable ", absl::CEscape(name),
                                  " is not to be stored, but has no value"));
    }
  }
  return CheckLength("the environment", bytes, kMaxEnvironment);
}

absl::Status CheckParams(const KeyValues& params) {
  HPC_RETURN_IF_ERROR(CheckCount("parameters", params.size()));
  std::set<absl::string_view> keys;
  for (const v1::KeyValue& pair : params) {
    HPC_RETURN_IF_ERROR(CheckName("a parameter's name", pair.key(), kMaxName));
    HPC_RETURN_IF_ERROR(
        CheckShortText(absl::StrCat("the parameter ", pair.key()), pair.value(), kMaxValue));
    if (!keys.insert(pair.key()).second) {
      return Invalid(absl::StrCat("the parameter ", pair.key(), " is given twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTags(const Texts& tags) {
  HPC_RETURN_IF_ERROR(CheckCount("tags", tags.size()));
  std::set<absl::string_view> seen;
  for (const std::string& tag : tags) {
    HPC_RETURN_IF_ERROR(CheckName("a tag", tag, kMaxName));
    if (!seen.insert(tag).second) return Invalid(absl::StrCat("the tag ", tag, " is given twice"));
  }
  return absl::OkStatus();
}

absl::Status CheckNodes(absl::string_view what, const Texts& nodes) {
  HPC_RETURN_IF_ERROR(CheckCount(what, nodes.size()));
  for (const std::string& node : nodes) HPC_RETURN_IF_ERROR(CheckNodeName(node));
  return absl::OkStatus();
}

absl::Status CheckCode(const v1::CodeState& code) {
  HPC_RETURN_IF_ERROR(CheckShortText("the repository's path", code.repository(), kMaxPath));
  HPC_RETURN_IF_ERROR(CheckShortText("the commit", code.commit(), kMaxName));
  HPC_RETURN_IF_ERROR(CheckShortText("the branch", code.branch(), kMaxPath));
  return CheckShortText("the diff of uncommitted changes", code.diff(), kMaxDiff);
}

absl::Status CheckNumbers(const v1::RunSpec& spec) {
  HPC_RETURN_IF_ERROR(CheckRange("the least number of nodes", spec.min_nodes(), 0, kMaxNodes));
  HPC_RETURN_IF_ERROR(CheckRange("the largest number of nodes", spec.max_nodes(), 0, kMaxNodes));
  HPC_RETURN_IF_ERROR(
      CheckRange("the number of ranks per node", spec.ranks_per_node(), 0, kMaxNodes));
  if (spec.has_gpus_per_node()) {
    HPC_RETURN_IF_ERROR(
        CheckRange("the number of GPUs per node", spec.gpus_per_node(), 0, kMaxNodes));
  }
  HPC_RETURN_IF_ERROR(CheckRange("the priority", spec.priority(), -kMaxPriority, kMaxPriority));
  HPC_RETURN_IF_ERROR(CheckRange("the run to start after", spec.after_run(), 0, INT64_MAX));
  constexpr int64_t kYearMs = int64_t{366} * 24 * 3600 * 1000;
  HPC_RETURN_IF_ERROR(CheckSpan("the time limit", spec.time_limit_ms(), 10 * kYearMs));
  HPC_RETURN_IF_ERROR(CheckSpan("the grace", spec.stop_grace_ms(), kYearMs));
  HPC_RETURN_IF_ERROR(CheckCount("exit codes that ask for a restart", spec.retry_exits_size()));
  return CheckRange("the number of restarts", spec.max_restarts(), 0, INT32_MAX);
}

absl::Status CheckEnums(const v1::RunSpec& spec) {
  if (!v1::LaunchMode_IsValid(spec.mode())) {
    return Invalid(absl::StrCat("the launch mode ", static_cast<int>(spec.mode()), " is unknown"));
  }
  if (!v1::GrowMode_IsValid(spec.grow())) {
    return Invalid(absl::StrCat("the way to grow ", static_cast<int>(spec.grow()), " is unknown"));
  }
  if (!v1::StoreHost_IsValid(spec.store_host())) {
    return Invalid(
        absl::StrCat("the store host ", static_cast<int>(spec.store_host()), " is unknown"));
  }
  if (!v1::LegacyLocalRank_IsValid(spec.legacy_local_rank())) {
    return Invalid(absl::StrCat("the form of the local rank ",
                                static_cast<int>(spec.legacy_local_rank()), " is unknown"));
  }
  return absl::OkStatus();
}

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

absl::Status CheckSubmit(const v1::SubmitRequest& request) {
  const v1::RunSpec& spec = request.spec();
  if (!request.request_id().empty()) {
    HPC_RETURN_IF_ERROR(CheckName("the request id", request.request_id(), kMaxRequestId));
  }
  HPC_RETURN_IF_ERROR(CheckCommand(spec.command()));
  if (!spec.name().empty()) HPC_RETURN_IF_ERROR(CheckName("the name", spec.name(), kMaxName));
  if (!spec.experiment().empty()) {
    HPC_RETURN_IF_ERROR(CheckName("the experiment", spec.experiment(), kMaxName));
  }
  HPC_RETURN_IF_ERROR(CheckParams(spec.params()));
  HPC_RETURN_IF_ERROR(CheckTags(spec.tags()));
  HPC_RETURN_IF_ERROR(CheckNumbers(spec));
  HPC_RETURN_IF_ERROR(CheckEnums(spec));
  HPC_RETURN_IF_ERROR(CheckNodes("nodes in the node list", spec.node_list()));
  HPC_RETURN_IF_ERROR(CheckNodes("excluded nodes", spec.exclude()));
  HPC_RETURN_IF_ERROR(CheckWorkdir(spec.workdir()));
  HPC_RETURN_IF_ERROR(CheckEnvironment(spec.env(), spec.unstored_env()));
  HPC_RETURN_IF_ERROR(CheckCode(spec.code()));
  return CheckShortText("the submitting host", spec.submit_host(), kMaxName);
}

absl::Status CheckWait(const v1::WaitRequest& request) {
  if (request.runs_size() >= 1 && request.runs_size() <= kMaxWaitedRuns) return absl::OkStatus();
  return Invalid(absl::StrCat("asks to wait for ", request.runs_size(), " runs; allowed are 1 to ",
                              kMaxWaitedRuns, " in one call"));
}

absl::Status CheckListRuns(const v1::ListRunsRequest& request) {
  for (const int state : request.states()) {
    if (state == v1::RUN_STATE_UNSPECIFIED || !v1::RunState_IsValid(state)) {
      return Invalid(absl::StrCat("the run state ", state, " is unknown"));
    }
  }
  HPC_RETURN_IF_ERROR(CheckText("the experiment", request.experiment()));
  HPC_RETURN_IF_ERROR(CheckText("the tag", request.tag()));
  HPC_RETURN_IF_ERROR(CheckRange("the run to list before", request.before(), 0, INT64_MAX));
  return CheckRange("the number of runs to list", request.limit(), 0, INT64_MAX);
}

absl::Status CheckListEvents(const v1::ListEventsRequest& request) {
  if (request.newest() <= kRowsPerMessage) {
    return CheckRange("the number of newest events", request.newest(), 0, kRowsPerMessage);
  }
  return Invalid(absl::StrCat("the number of newest events is ", request.newest(), "; the most is ",
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
  if (hello.incarnation() == 0) return Invalid("the hello names no incarnation");
  if (!IsIpOfOne(hello.address())) {
    return Invalid(absl::StrCat("the address '", absl::CEscape(hello.address()), "' of node ",
                                hello.node(),
                                " is not the IP address of one machine, as 192.168.1.11"));
  }
  return absl::OkStatus();
}

absl::Status CheckLogData(const v1::LogData& data) {
  HPC_RETURN_IF_ERROR(CheckLength("one piece of log data", data.data().size(), kMaxLogData));
  if (data.offset() >= 0 && data.offset() <= kMaxLogPosition - int64_t{kMaxLogData}) {
    return absl::OkStatus();
  }
  return Invalid(absl::StrCat("log data at offset ", data.offset(), ", which no stream reaches"));
}

absl::Status CheckLogEnd(const v1::LogEnd& end) {
  if (end.cut_bytes() >= 0 && end.cut_bytes() <= kMaxLogPosition) return absl::OkStatus();
  return Invalid(absl::StrCat("log end with ", end.cut_bytes(), " bytes cut, which no stream has"));
}

}  // namespace hpc::coordinator
