#include "client/cli/input/run_options.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
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

// Returns a setter for a name, of which an empty one means the default.
auto NameInto(std::string* (v1::RunSpec::*text)()) {
  return [text](absl::string_view option, absl::string_view value, RunOptions* run) {
    *(run->spec.*text)() = std::string(value);
    return value.empty() ? absl::OkStatus() : AsUsageError(CheckName(option, value));
  };
}

absl::Status AddTag(absl::string_view option, absl::string_view value, RunOptions* run) {
  run->spec.add_tags(std::string(value));
  return AsUsageError(CheckName(option, value));
}

absl::Status SetWorkdir(absl::string_view option, absl::string_view value, RunOptions* run) {
  run->spec.set_workdir(std::string(value));
  return AsUsageError(CheckText(option, value));
}

absl::Status SetUmask(absl::string_view option, absl::string_view value, RunOptions* run) {
  const bool octal =
      !value.empty() && value.size() <= 4 && value.find_first_not_of("01234567") == value.npos;
  const int64_t mask = octal ? std::strtol(std::string(value).c_str(), nullptr, 8) : -1;
  if (mask < 0 || mask > 0777) {
    return UsageError(absl::StrCat(option, " '", ToValidUtf8(value),
                                   "' is not a umask: give its octal digits, as 022 or 077."));
  }
  run->spec.set_umask(static_cast<int32_t>(mask));
  return absl::OkStatus();
}

absl::Status SetEnvAll(absl::string_view, absl::string_view, RunOptions* run) {
  run->env_all = true;
  return absl::OkStatus();
}

// A name is looked up later, and only by 'hpcctl run': a line of 'hpcctl submit' has a number.
absl::Status SetAfter(absl::string_view option, absl::string_view value, RunOptions* run) {
  const bool of_run = absl::StartsWith(option, "--");
  if (of_run && value.empty()) {
    return UsageError("--after names no run: give its number, its name, or last.");
  }
  const bool name = of_run && !std::all_of(value.begin(), value.end(), absl::ascii_isdigit);
  run->after = name ? std::string(value) : "";
  if (name) return AsUsageError(CheckName(option, value));
  HPC_ASSIGN_OR_RETURN(const int64_t number,
                       ReadInteger(option, value, 1, std::numeric_limits<int64_t>::max()));
  run->spec.set_after_run(number);
  return absl::OkStatus();
}

absl::Status SetHold(absl::string_view, absl::string_view, RunOptions* run) {
  run->spec.set_hold(true);
  return absl::OkStatus();
}

// Returns a setter that keeps the text until the caller is known.
auto AddTo(std::vector<std::string> RunOptions::*member) {
  return [member](absl::string_view, absl::string_view value, RunOptions* run) {
    (run->*member).emplace_back(value);
    return absl::OkStatus();
  };
}

template <typename T>
SpecField Of(T (v1::RunSpec::*get)() const, void (v1::RunSpec::*set)(T),
             bool (v1::RunSpec::*has)() const = nullptr) {
  return {[=](const v1::RunSpec& spec) -> std::optional<int64_t> {
            if (has != nullptr && !(spec.*has)()) return std::nullopt;
            return (spec.*get)();
          },
          [=](int64_t value, v1::RunSpec* spec) { (spec->*set)(static_cast<T>(value)); }};
}

// `values` are those of the words in the option's metavar.
template <typename E>
SpecField WordOf(E (v1::RunSpec::*get)() const, void (v1::RunSpec::*set)(E),
                 const std::vector<int64_t>& values) {
  SpecField field = Of(get, set);
  field.values = values;
  return field;
}

std::vector<std::string> Words(const RunOption& option) {
  return absl::StrSplit(option.metavar, '|');
}

absl::StatusOr<int64_t> Read(const RunOption& option, absl::string_view name,
                             absl::string_view value) {
  if (option.form == Form::kNumber) return ReadInteger(name, value, option.min, option.max);
  if (option.form == Form::kSpan) {
    HPC_ASSIGN_OR_RETURN(const absl::Duration span, ReadDuration(name, value));
    return std::max<int64_t>(1, absl::ToInt64Milliseconds(span));
  }
  HPC_ASSIGN_OR_RETURN(const size_t choice, ReadChoice(name, value, Words(option)));
  return option.to.values[choice];
}

RunOption Own(const char* names, const char* field, const char* metavar, Form form,
              const char* help, RunSetter set) {
  RunOption option{names, metavar, form, help};
  option.field = field;
  option.set = std::move(set);
  return option;
}

using Spec = v1::RunSpec;

std::vector<RunOption> Placement() {
  return {
      Own("-N,--nodes", "nodes", "N|MIN:MAX", Form::kNodes,
          "how many nodes, or the fewest and the most (default 1)", SetNodes),
      {"--grow", "checkpoint|never|now", Form::kWord,
       "when a gang that has fewer than MAX is started again on more nodes: when it has "
       "saved a checkpoint (default), never, or as soon as they stay",
       "Grows",
       WordOf(&Spec::grow, &Spec::set_grow,
              {v1::GROW_MODE_CHECKPOINT, v1::GROW_MODE_NEVER, v1::GROW_MODE_NOW})},
      {"--ranks-per-node", "R", Form::kNumber,
       "processes on each node (default: one for each of its GPUs)", "Ranks per node",
       Of(&Spec::ranks_per_node, &Spec::set_ranks_per_node), 1, kMaxCount},
      {"--gpus-per-node", "G", Form::kNumber,
       "GPUs of each node (default: all; 0: none, a CPU slot)", "GPUs per node",
       Of(&Spec::gpus_per_node, &Spec::set_gpus_per_node, &Spec::has_gpus_per_node), 0, kMaxCount},
      Own("--nodelist", "nodelist", "A,B", Form::kList, "only these nodes", AddWantedNode),
      Own("--exclude", "exclude", "C,D", Form::kList, "never these nodes", AddUnwantedNode),
  };
}

std::vector<RunOption> Scheduling() {
  return {
      {"--priority", "P", Form::kNumber, "larger goes first, -1000 to 1000 (default 0)", "Priority",
       Of(&Spec::priority, &Spec::set_priority), -1000, 1000},
      {"--after", "RUN", Form::kNumber,
       "start only after the success of this run: its number, its name, or last", "After run",
       Of(&Spec::after_run, &Spec::set_after_run), 1, std::numeric_limits<int64_t>::max(),
       SetAfter},
      Own("--hold", "hold", "", Form::kFlag, "do not start it before 'hpcctl release'", SetHold),
      {"--time-limit", "2h", Form::kSpan,
       "end it so long after its start (90s, 30m, 2h, 1:30:00; a number is seconds); each attempt "
       "has all of it",
       "Time limit", Of(&Spec::time_limit_ms, &Spec::set_time_limit_ms)},
      {"--max-restarts", "K", Form::kNumber,
       "start it again when it fails by itself, so many times at most (default 0)", "Max restarts",
       Of(&Spec::max_restarts, &Spec::set_max_restarts), 0, kMaxCount},
      Own("--retry-exit", "retry_exits", "CODE", Form::kNumbers,
          "start it again after this exit code, at no cost; as 75; repeatable", AddRetryExit),
      {"--stop-grace", "30s", Form::kSpan, "from asking it to end to ending it (default 30s)",
       "Stop grace", Of(&Spec::stop_grace_ms, &Spec::set_stop_grace_ms)},
      {"--stop-signal", "auto|term|int|hup|quit|usr1|usr2", Form::kWord,
       "by which it is asked to end (default auto: SIGTERM, or SIGINT after Ctrl-C)", "Stop signal",
       WordOf(&Spec::stop_signal, &Spec::set_stop_signal,
              {v1::STOP_SIGNAL_AUTO, v1::STOP_SIGNAL_TERM, v1::STOP_SIGNAL_INT, v1::STOP_SIGNAL_HUP,
               v1::STOP_SIGNAL_QUIT, v1::STOP_SIGNAL_USR1, v1::STOP_SIGNAL_USR2})},
  };
}

std::vector<RunOption> Program() {
  return {
      Own("", "command", "", Form::kTexts, "", AddTo(&RunOptions::command)),
      {"--mode", "torchrun|per-node|slurm", Form::kWord,
       "variables as torchrun gives them, one process a node, or variables as srun gives them",
       "Mode",
       WordOf(&Spec::mode, &Spec::set_mode,
              {v1::LAUNCH_MODE_TORCHRUN, v1::LAUNCH_MODE_PER_NODE, v1::LAUNCH_MODE_SLURM})},
      {"--store", "auto|worker|rank0", Form::kWord,
       "who serves the rendezvous store (default auto)", "Store",
       WordOf(&Spec::store_host, &Spec::set_store_host,
              {v1::STORE_HOST_AUTO, v1::STORE_HOST_WORKER, v1::STORE_HOST_RANK0})},
      {"--warm", "auto|off", Form::kWord,
       "whether a Python's ranks may be copies of a process that has imported their modules "
       "(default auto)",
       "Warm", WordOf(&Spec::warm, &Spec::set_warm, {v1::WARM_START_AUTO, v1::WARM_START_OFF})},
      {"--legacy-local-rank", "dash|underscore|none", Form::kMaybeWord,
       "also give --local-rank=N, or --local_rank=N, as an argument", "",
       WordOf(&Spec::legacy_local_rank, &Spec::set_legacy_local_rank,
              {v1::LEGACY_LOCAL_RANK_DASH, v1::LEGACY_LOCAL_RANK_UNDERSCORE,
               v1::LEGACY_LOCAL_RANK_NONE})},
      Own("--env", "env", "K=V|K", Form::kPairs, "set a variable, or copy the one here; repeatable",
          AddTo(&RunOptions::env)),
      Own("--env-secret", "env_secret", "K", Form::kTexts,
          "copy a variable from here without storing it anywhere; repeatable",
          AddTo(&RunOptions::env_secret)),
      Own("--env-all", "env_all", "", Form::kFlag, "copy all variables of this shell", SetEnvAll),
      Own("--umask", "umask", "022", Form::kText,
          "permissions that its new files lack (default: as in this shell)", SetUmask),
      Own("--workdir", "workdir", "DIR", Form::kText,
          "where to run, on every node (default: this directory)", SetWorkdir),
  };
}

std::vector<RunOption> Names() {
  return {
      Own("--name", "name", "X", Form::kText,
          "of the run (default: the program's file name, or its script's)",
          NameInto(&Spec::mutable_name)),
      Own("--experiment", "experiment", "E", Form::kText, "the set of runs it belongs to",
          NameInto(&Spec::mutable_experiment)),
      Own("--param", "params", "K=V", Form::kPairs, "a parameter to compare runs by; repeatable",
          AddParam),
      Own("--tag", "tags", "T", Form::kTexts, "a tag to find it by; repeatable", AddTag),
  };
}

void Declare(const RunOption& option, absl::string_view help, Options* options, RunOptions* run) {
  using Takes = Options::Takes;
  const auto set = [&option, run](absl::string_view name, absl::string_view value) {
    if (option.form == Form::kMaybeWord && value.empty()) {
      return SetOption(option, name, Words(option)[0], run);
    }
    if (option.form != Form::kList) return SetOption(option, name, value, run);
    for (absl::string_view part : absl::StrSplit(value, ',')) {
      HPC_RETURN_IF_ERROR(SetOption(option, name, part, run));
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
    const std::pair<const char*, std::vector<RunOption>> groups[] = {
        {"Where it runs", Placement()},
        {"When it runs, and for how long", Scheduling()},
        {"What the program gets", Program()},
        {"How it is found again", Names()}};
    for (const auto& [title, group] : groups) {
      for (RunOption option : group) {
        if (option.field.empty()) {
          option.field = absl::StrReplaceAll(option.names.substr(2), {{"-", "_"}});
        }
        option.group = title;
        options->push_back(std::move(option));
      }
    }
    return options;
  }();
  return *all;
}

absl::Status SetOption(const RunOption& option, absl::string_view name, absl::string_view value,
                       RunOptions* run) {
  run->typed.insert(option.field);
  if (option.set != nullptr) return option.set(name, value, run);
  HPC_ASSIGN_OR_RETURN(const int64_t found, Read(option, name, value));
  option.to.set(found, &run->spec);
  return absl::OkStatus();
}

std::string WordFor(const RunOption& option, int64_t value) {
  const std::vector<int64_t>& values = option.to.values;
  const size_t at = std::find(values.begin(), values.end(), value) - values.begin();
  return at == values.size() ? "" : Words(option)[at];
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
