#include "coordinator/rpc/convert/convert_spec.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/limits.h"

namespace hpc::coordinator {
namespace {

using KeyValues = google::protobuf::RepeatedPtrField<v1::KeyValue>;
using Texts = google::protobuf::RepeatedPtrField<std::string>;

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsInterpreter(absl::string_view program) {
  return absl::StartsWith(program, "python") || program == "sh" || program == "bash";
}

// The name of a run, which commands take in place of its number.
absl::Status CheckRunName(const std::string& name) {
  HPC_RETURN_IF_ERROR(CheckName("the name", name, kMaxName));
  const bool number = std::all_of(name.begin(), name.end(), absl::ascii_isdigit);
  if (!number && name != "last") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the name '", name, "' could not be found again: ",
                   number ? "it would be taken for a run's number" : "'last' is your newest run",
                   "; choose another one"));
}

// The file name of the program, or of its script if the program is an interpreter ("python -u
// train.py", "python -m package.train"). "python" alone would not tell runs apart.
template <typename Command>
std::string DefaultName(const Command& command) {
  std::string name = FileName(command.Get(0));
  for (int i = 1; IsInterpreter(FileName(command.Get(0))) && i < command.size(); ++i) {
    const std::string& argument = command.Get(i);
    if (argument == "-c") break;
    if (absl::StartsWith(argument, "-")) continue;
    name = FileName(argument);
    break;
  }
  return CheckRunName(name).ok() ? name : "run";
}

CodeState FromProto(const v1::CodeState& code) {
  return {code.repository(), code.commit(), code.branch(),
          code.dirty(),      code.diff(),   code.diff_cut()};
}

v1::CodeState ToProto(const CodeState& code) {
  v1::CodeState out;
  out.set_repository(code.repository);
  out.set_commit(code.commit);
  out.set_branch(code.branch);
  out.set_dirty(code.dirty);
  out.set_diff(code.diff);
  out.set_diff_cut(code.diff_cut);
  return out;
}

absl::Status CheckCommand(const Texts& command) {
  if (command.empty() || command.Get(0).empty()) {
    return absl::InvalidArgumentError("the command is empty; name a program to run");
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
    return absl::InvalidArgumentError(
        absl::StrCat("the working directory '", workdir,
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
      return absl::InvalidArgumentError(
          absl::StrCat("the environment variable's name '", name, "' contains '='"));
    }
    HPC_RETURN_IF_ERROR(CheckText(absl::StrCat("the environment variable ", name), pair.value()));
    if (!names.insert(name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the environment variable ", name, " is given twice"));
    }
    bytes += name.size() + pair.value().size() + 2;
  }
  for (const std::string& name : unstored) {
    if (!names.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat("the environment variable ",
                                                     absl::CEscape(name),
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
      return absl::InvalidArgumentError(
          absl::StrCat("the parameter ", pair.key(), " is given twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTags(const Texts& tags) {
  HPC_RETURN_IF_ERROR(CheckCount("tags", tags.size()));
  std::set<absl::string_view> seen;
  for (const std::string& tag : tags) {
    HPC_RETURN_IF_ERROR(CheckName("a tag", tag, kMaxName));
    if (!seen.insert(tag).second)
      return absl::InvalidArgumentError(absl::StrCat("the tag ", tag, " is given twice"));
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
  HPC_RETURN_IF_ERROR(CheckRange("the umask", spec.umask(), 0, 0777));
  HPC_RETURN_IF_ERROR(CheckRange("the priority", spec.priority(), -kMaxPriority, kMaxPriority));
  HPC_RETURN_IF_ERROR(CheckRange("the run to start after", spec.after_run(), 0, INT64_MAX));
  constexpr int64_t kYearMs = int64_t{366} * 24 * 3600 * 1000;
  HPC_RETURN_IF_ERROR(CheckSpan("the time limit", spec.time_limit_ms(), 10 * kYearMs));
  HPC_RETURN_IF_ERROR(CheckSpan("the grace", spec.stop_grace_ms(), kYearMs));
  HPC_RETURN_IF_ERROR(CheckCount("exit codes that ask for a restart", spec.retry_exits_size()));
  return CheckRange("the number of restarts", spec.max_restarts(), 0, INT32_MAX);
}

// Returns "launch mode" for "LaunchMode".
std::string Words(absl::string_view type) {
  std::string words;
  for (const char letter : type) {
    if (absl::ascii_isupper(letter) && !words.empty()) words += ' ';
    words += absl::ascii_tolower(letter);
  }
  return words;
}

absl::Status CheckEnums(const v1::RunSpec& spec) {
  const google::protobuf::Reflection& reflection = *spec.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> given;
  reflection.ListFields(spec, &given);
  for (const auto* field : given) {
    if (field->enum_type() == nullptr) continue;
    const int value = reflection.GetEnumValue(spec, field);
    if (field->enum_type()->FindValueByNumber(value) != nullptr) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the ", Words(field->enum_type()->name()), " ", value, " is unknown"));
  }
  return absl::OkStatus();
}

// What is not said keeps its default.
template <typename Wire, typename Value>
void Take(Wire said, Value* to) {
  if (said != Wire{}) *to = static_cast<Value>(said);
}

}  // namespace

absl::Status CheckSubmit(const v1::SubmitRequest& request) {
  const v1::RunSpec& spec = request.spec();
  if (!request.request_id().empty()) {
    HPC_RETURN_IF_ERROR(CheckName("the request id", request.request_id(), kMaxRequestId));
  }
  HPC_RETURN_IF_ERROR(CheckCommand(spec.command()));
  if (!spec.name().empty()) HPC_RETURN_IF_ERROR(CheckRunName(spec.name()));
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

absl::Status CheckChange(const v1::ChangeRequest& request) {
  v1::RunSpec spec;
  spec.set_priority(request.priority());
  spec.set_min_nodes(request.min_nodes());
  spec.set_max_nodes(request.max_nodes());
  spec.set_time_limit_ms(request.time_limit_ms());
  spec.set_max_restarts(request.max_restarts());
  HPC_RETURN_IF_ERROR(CheckNumbers(spec));
  HPC_RETURN_IF_ERROR(CheckNodes("nodes in the node list", request.node_list().names()));
  return CheckNodes("excluded nodes", request.exclude().names());
}

RunRequest ToRunRequest(const v1::RunSpec& spec) {
  RunRequest out;
  out.name = spec.name().empty() ? DefaultName(spec.command()) : spec.name();
  out.experiment = spec.experiment().empty() ? "default" : spec.experiment();
  out.min_nodes = spec.min_nodes() == 0 ? 1 : spec.min_nodes();
  out.max_nodes = spec.max_nodes() == 0 ? out.min_nodes : spec.max_nodes();
  out.ranks_per_node = spec.ranks_per_node();
  if (spec.has_gpus_per_node()) out.gpus_per_node = spec.gpus_per_node();
  out.node_list = FromProto(spec.node_list());
  out.exclude = FromProto(spec.exclude());
  out.priority = spec.priority();
  out.after = spec.after_run();
  out.hold = spec.hold();
  if (spec.time_limit_ms() > 0) out.time_limit = FromMillis(spec.time_limit_ms());
  out.max_restarts = spec.max_restarts();
  out.retry_exits.assign(spec.retry_exits().begin(), spec.retry_exits().end());
  Take(spec.grow(), &out.grow);
  Take(spec.mode(), &out.mode);
  Take(spec.store_host(), &out.store_host);
  if (spec.stop_grace_ms() > 0) out.stop_grace = FromMillis(spec.stop_grace_ms());
  return out;
}

RunProgram ToRunProgram(const v1::SubmitRequest& request) {
  const v1::RunSpec& spec = request.spec();
  RunProgram out;
  out.command = FromProto(spec.command());
  out.workdir = spec.workdir();
  out.env = FromProto(spec.env());
  out.unstored_env = FromProto(spec.unstored_env());
  Take(spec.legacy_local_rank(), &out.legacy_local_rank);
  Take(spec.stop_signal(), &out.stop_signal);
  if (spec.has_umask()) out.umask = spec.umask();
  Take(spec.warm(), &out.warm);
  out.params = FromProto(spec.params());
  out.tags = FromProto(spec.tags());
  out.code = FromProto(spec.code());
  out.submit_host = spec.submit_host();
  out.request_id = request.request_id();
  return out;
}

v1::RunSpec ToSpec(const RunRequest& request, const RunProgram& program) {
  v1::RunSpec out;
  out.set_name(request.name);
  out.set_experiment(request.experiment);
  AddPairs(program.params, out.mutable_params());
  for (const std::string& tag : program.tags) out.add_tags(tag);
  out.set_min_nodes(request.min_nodes);
  out.set_max_nodes(request.max_nodes);
  out.set_ranks_per_node(request.ranks_per_node);
  if (request.gpus_per_node) out.set_gpus_per_node(*request.gpus_per_node);
  for (const std::string& node : request.node_list) out.add_node_list(node);
  for (const std::string& node : request.exclude) out.add_exclude(node);
  out.set_grow(static_cast<v1::GrowMode>(request.grow));
  out.set_mode(static_cast<v1::LaunchMode>(request.mode));
  out.set_store_host(static_cast<v1::StoreHost>(request.store_host));
  out.set_legacy_local_rank(static_cast<v1::LegacyLocalRank>(program.legacy_local_rank));
  out.set_stop_signal(static_cast<v1::StopSignal>(program.stop_signal));
  out.set_umask(program.umask);
  out.set_warm(static_cast<v1::WarmStart>(program.warm));
  out.set_priority(request.priority);
  out.set_after_run(request.after);
  out.set_hold(request.hold);
  if (request.time_limit != absl::InfiniteDuration()) {
    out.set_time_limit_ms(absl::ToInt64Milliseconds(request.time_limit));
  }
  out.set_max_restarts(request.max_restarts);
  out.mutable_retry_exits()->Add(request.retry_exits.begin(), request.retry_exits.end());
  out.set_stop_grace_ms(absl::ToInt64Milliseconds(request.stop_grace));
  for (const std::string& argument : program.command) out.add_command(argument);
  out.set_workdir(program.workdir);
  AddPairs(program.env, out.mutable_env());
  *out.mutable_code() = ToProto(program.code);
  out.set_submit_host(program.submit_host);
  return out;
}

RunChange ToRunChange(const v1::ChangeRequest& request) {
  RunChange out;
  if (request.has_hold()) out.hold = request.hold();
  if (request.has_priority()) out.priority = request.priority();
  if (request.has_min_nodes()) out.min_nodes = request.min_nodes();
  if (request.has_max_nodes()) out.max_nodes = request.max_nodes();
  if (request.has_max_restarts()) out.max_restarts = request.max_restarts();
  if (request.has_time_limit_ms()) {
    const int64_t limit = request.time_limit_ms();
    out.time_limit = limit == 0 ? absl::InfiniteDuration() : FromMillis(limit);
  }
  if (request.has_node_list()) out.node_list = FromProto(request.node_list().names());
  if (request.has_exclude()) out.exclude = FromProto(request.exclude().names());
  return out;
}

}  // namespace hpc::coordinator
