#include "client/cli/input/run_options.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/input/run_option_kinds.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr int32_t kMaxCount = 1'000'000;

absl::Status SetNodes(absl::string_view, absl::string_view value, RunOptions* run) {
  const std::pair<absl::string_view, absl::string_view> range =
      absl::StrSplit(value, absl::MaxSplits(':', 1));
  int32_t min = 0, max = 0;
  const bool is_range = absl::StrContains(value, ':');
  const bool read = absl::SimpleAtoi(range.first, &min) &&
                    absl::SimpleAtoi(is_range ? range.second : range.first, &max);
  if (!read || min < 1 || max < 1 || max > kMaxCount) {
    return UsageError(absl::StrCat("-N '", ToValidUtf8(value),
                                   "' is not a number of nodes: give one (-N 4) or a range from "
                                   "fewest to most (-N 2:4), each at least 1."));
  }
  if (max < min) {
    return UsageError(absl::StrCat("-N ", value, " asks for at least ", min, " and at most ", max,
                                   " nodes: a range goes from fewest to most, as in -N ", max, ":",
                                   min, "."));
  }
  run->spec.set_min_nodes(min);
  run->spec.set_max_nodes(max);
  return absl::OkStatus();
}

absl::Status AddWantedNode(absl::string_view, absl::string_view value, RunOptions* run) {
  const auto& known = run->spec.node_list();
  if (std::find(known.begin(), known.end(), value) != known.end()) return absl::OkStatus();
  run->spec.add_node_list(std::string(value));
  return AsUsageError(CheckNodeName(value));
}

absl::Status AddUnwantedNode(absl::string_view, absl::string_view value, RunOptions* run) {
  run->spec.add_exclude(std::string(value));
  return AsUsageError(CheckNodeName(value));
}

absl::Status AddRetryExit(absl::string_view, absl::string_view value, RunOptions* run) {
  int32_t code = 0;
  if (!absl::SimpleAtoi(value, &code) || code < 1 || code > 255) {
    return UsageError(absl::StrCat("--retry-exit '", ToValidUtf8(value),
                                   "' is not an exit code that asks for another try: give one "
                                   "from 1 to 255, as 75 (128 + n stands for signal n)."));
  }
  const auto& known = run->spec.retry_exits();
  if (std::find(known.begin(), known.end(), code) == known.end()) run->spec.add_retry_exits(code);
  return absl::OkStatus();
}

absl::Status AddParam(absl::string_view, absl::string_view value, RunOptions* run) {
  const size_t equals = value.find('=');
  if (equals == absl::string_view::npos) {
    return UsageError(absl::StrCat("--param '", ToValidUtf8(value),
                                   "' has no value: write it as key=value, as in --param "
                                   "lr=0.1."));
  }
  const absl::string_view key = value.substr(0, equals), text = value.substr(equals + 1);
  HPC_RETURN_IF_ERROR(AsUsageError(CheckName("the key of a --param", key)));
  HPC_RETURN_IF_ERROR(AsUsageError(CheckText(absl::StrCat("the value of --param ", key), text)));
  for (const v1::KeyValue& known : run->spec.params()) {
    if (known.key() != key) continue;
    return UsageError(absl::StrCat("--param ", key, " is given twice; keys are unique."));
  }
  v1::KeyValue* entry = run->spec.add_params();
  entry->set_key(std::string(key));
  entry->set_value(std::string(text));
  return absl::OkStatus();
}

absl::Status AddTag(absl::string_view option, absl::string_view value, RunOptions* run) {
  run->spec.add_tags(std::string(value));
  return AsUsageError(CheckName(option, value));
}

// An empty name is the default one.
absl::Status SetName(absl::string_view option, absl::string_view value, RunOptions* run) {
  run->spec.set_name(std::string(value));
  return value.empty() ? absl::OkStatus() : AsUsageError(CheckName(option, value));
}

absl::Status SetExperiment(absl::string_view option, absl::string_view value, RunOptions* run) {
  run->spec.set_experiment(std::string(value));
  return value.empty() ? absl::OkStatus() : AsUsageError(CheckName(option, value));
}

absl::Status SetWorkdir(absl::string_view option, absl::string_view value, RunOptions* run) {
  run->spec.set_workdir(std::string(value));
  return AsUsageError(CheckText(option, value));
}

absl::Status SetEnvAll(absl::string_view, absl::string_view, RunOptions* run) {
  run->env_all = true;
  return absl::OkStatus();
}

// Returns a setter that keeps the text until the caller is known.
auto AddTo(std::vector<std::string> RunOptions::*member) {
  return [member](absl::string_view, absl::string_view value, RunOptions* run) {
    (run->*member).emplace_back(value);
    return absl::OkStatus();
  };
}

RunOption OptionalWord(RunOption option) {
  option.form = Form::kMaybeWord;
  return option;
}

// Without room to grow, people are not told when the run grows.
RunOption ShownIfElastic(RunOption option) {
  option.show = [show = option.show](const v1::RunSpec& spec) {
    Shown shown = show(spec);
    if (spec.max_nodes() <= spec.min_nodes()) shown.title = "";
    return shown;
  };
  return option;
}

std::vector<RunOption> Placement() {
  using Spec = v1::RunSpec;
  return {
      {"-N,--nodes", "nodes", "N|MIN:MAX", Form::kNodes,
       "how many nodes, or the fewest and the most (default 1)", SetNodes},
      ShownIfElastic(WordOption<v1::GrowMode>(
          "--grow",
          {{"checkpoint", v1::GROW_MODE_CHECKPOINT},
           {"never", v1::GROW_MODE_NEVER},
           {"now", v1::GROW_MODE_NOW}},
          {&Spec::grow, &Spec::set_grow},
          "when a gang that has fewer than MAX is started again on more nodes: when it has "
          "saved a checkpoint (default), never, or as soon as they stay",
          "Grows")),
      NumberOption<int32_t>(
          "--ranks-per-node", "R", 1, kMaxCount, {&Spec::ranks_per_node, &Spec::set_ranks_per_node},
          "processes on each node (default: one for each of its GPUs)", "Ranks per node"),
      NumberOption<int32_t>(
          "--gpus-per-node", "G", 0, kMaxCount,
          {&Spec::gpus_per_node, &Spec::set_gpus_per_node, &Spec::has_gpus_per_node},
          "GPUs of each node (default: all; 0: none, a CPU slot)", "GPUs per node"),
      {"--nodelist", "nodelist", "A,B", Form::kList, "only these nodes", AddWantedNode},
      {"--exclude", "exclude", "C,D", Form::kList, "never these nodes", AddUnwantedNode},
  };
}

std::vector<RunOption> Scheduling() {
  using Spec = v1::RunSpec;
  return {
      NumberOption<int32_t>("--priority", "P", -1000, 1000, {&Spec::priority, &Spec::set_priority},
                            "larger goes first, -1000 to 1000 (default 0)", "Priority"),
      NumberOption<int64_t>("--after", "RUN", 1, std::numeric_limits<int64_t>::max(),
                            {&Spec::after_run, &Spec::set_after_run},
                            "start only after this run's success", "After run"),
      SpanOption("--time-limit", "2h", {&Spec::time_limit_ms, &Spec::set_time_limit_ms},
                 "end it so long after its start; each attempt has all of it", "Time limit"),
      NumberOption<int32_t>("--max-restarts", "K", 0, kMaxCount,
                            {&Spec::max_restarts, &Spec::set_max_restarts},
                            "start it again after so many failures (default 0)", "Max restarts"),
      {"--retry-exit", "retry_exits", "CODE", Form::kNumbers,
       "start it again after this exit code, at no cost; as 75; repeatable", AddRetryExit},
      SpanOption("--stop-grace", "30s", {&Spec::stop_grace_ms, &Spec::set_stop_grace_ms},
                 "from asking it to end to ending it (default 30s)", "Stop grace"),
  };
}

std::vector<RunOption> Program() {
  using Spec = v1::RunSpec;
  return {
      {"", "command", "", Form::kTexts, "", AddTo(&RunOptions::command)},
      WordOption<v1::LaunchMode>(
          "--mode",
          {{"torchrun", v1::LAUNCH_MODE_TORCHRUN}, {"per-node", v1::LAUNCH_MODE_PER_NODE}},
          {&Spec::mode, &Spec::set_mode}, "variables as torchrun gives them, or one process a node",
          "Mode"),
      WordOption<v1::StoreHost>("--store",
                                {{"auto", v1::STORE_HOST_AUTO},
                                 {"worker", v1::STORE_HOST_WORKER},
                                 {"rank0", v1::STORE_HOST_RANK0}},
                                {&Spec::store_host, &Spec::set_store_host},
                                "who serves the rendezvous store (default auto)", "Store"),
      OptionalWord(WordOption<v1::LegacyLocalRank>(
          "--legacy-local-rank",
          {{"dash", v1::LEGACY_LOCAL_RANK_DASH},
           {"underscore", v1::LEGACY_LOCAL_RANK_UNDERSCORE},
           {"none", v1::LEGACY_LOCAL_RANK_NONE}},
          {&Spec::legacy_local_rank, &Spec::set_legacy_local_rank},
          "also give --local-rank=N, or --local_rank=N, as an argument (default none)", "")),
      {"--env", "env", "K=V|K", Form::kPairs, "set a variable, or copy the one here; repeatable",
       AddTo(&RunOptions::env)},
      {"--env-secret", "env_secret", "K", Form::kTexts,
       "copy a variable from here without storing it anywhere; repeatable",
       AddTo(&RunOptions::env_secret)},
      {"--env-all", "env_all", "", Form::kFlag, "copy all variables of this shell", SetEnvAll},
      {"--workdir", "workdir", "DIR", Form::kText,
       "where to run, on every node (default: this directory)", SetWorkdir},
  };
}

std::vector<RunOption> Names() {
  return {
      {"--name", "name", "X", Form::kText,
       "of the run (default: the program's file name, or its script's)", SetName},
      {"--experiment", "experiment", "E", Form::kText, "the set of runs it belongs to",
       SetExperiment},
      {"--param", "params", "K=V", Form::kPairs, "a parameter to compare runs by; repeatable",
       AddParam},
      {"--tag", "tags", "T", Form::kTexts, "a tag to find it by; repeatable", AddTag},
  };
}

void Declare(const RunOption& option, absl::string_view help, Options* options, RunOptions* run) {
  using Takes = Options::Takes;
  const auto set = [&option, run](absl::string_view name, absl::string_view value) {
    if (option.form == Form::kMaybeWord && value.empty()) {
      value = absl::string_view(option.metavar).substr(0, option.metavar.find('|'));
    }
    if (option.form != Form::kList) return option.set(name, value, run);
    for (absl::string_view part : absl::StrSplit(value, ',')) {
      HPC_RETURN_IF_ERROR(option.set(name, part, run));
    }
    return absl::OkStatus();
  };
  const Takes takes = option.form == Form::kFlag        ? Takes::kNothing
                      : option.form == Form::kMaybeWord ? Takes::kMaybeValue
                                                        : Takes::kValue;
  options->Add(option.names, option.metavar, takes, help, set);
}

}  // namespace

const std::vector<RunOption>& AllRunOptions() {
  static const auto* all = [] {
    auto* options = new std::vector<RunOption>;
    const auto add = [&](const char* group, std::vector<RunOption> more) {
      for (RunOption& option : more) {
        option.group = group;
        options->push_back(std::move(option));
      }
    };
    add("Where it runs", Placement());
    add("When it runs, and for how long", Scheduling());
    add("What the program gets", Program());
    add("How it is found again", Names());
    return options;
  }();
  return *all;
}

void DeclareRunOptions(Options* options, RunOptions* run) {
  for (const RunOption& option : AllRunOptions()) {
    if (option.names.empty()) continue;
    options->Group(option.group);
    Declare(option, option.help, options, run);
  }
}

void DeclareRunOption(absl::string_view field, absl::string_view help, Options* options,
                      RunOptions* run) {
  for (const RunOption& option : AllRunOptions()) {
    if (option.field == field) Declare(option, help, options, run);
  }
}

std::string NodeRange(int min_nodes, int max_nodes) {
  if (min_nodes == max_nodes || max_nodes == 0) return absl::StrCat(min_nodes);
  return absl::StrCat(min_nodes, ":", max_nodes);
}

}  // namespace hpc::client
