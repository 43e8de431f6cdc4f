#include "train/program/train_main.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <cstdio>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/files.h"
#include "common/text.h"
#include "common/version.h"
#include "train/make_communicator.h"
#include "train/net/launch_environment.h"
#include "train/program/error_line.h"
#include "train/program/options/option_rules.h"
#include "train/program/options/run_params.h"
#include "train/program/summary_file.h"
#include "train/program/training_run.h"
#include "train/tensors/kept_memory.h"
#include "train/tool/process_setup.h"
#include "train/tool/standard_output.h"

namespace hpc::train {
namespace {

constexpr int kStopped = 128 + SIGTERM;

constexpr char kLast[] = "\nUnder hpcctl run, torchrun, or alone. docs/TRAINING.md says more.\n";

TrainOptions DefaultsOf(const TaskEntry& entry) {
  TrainOptions options;
  entry.set_defaults(&options);
  return options;
}

// Returns the usage of one task, with its defaults.
std::string UsageOf(const std::string& invocation, const TaskEntry& entry,
                    const std::string& more = "") {
  TrainOptions options = DefaultsOf(entry);
  return absl::StrCat("usage: ", invocation, " [OPTION...]\n\n  ", entry.help, "\n", more, "\n",
                      TableOf(&options).Help({}, entry.unused), kLast);
}

std::string Usage(const std::string& program, const std::vector<TaskEntry>& tasks,
                  const std::string& more) {
  std::string usage = absl::StrCat("usage: ", program, " TASK [OPTION...]\n       ", program,
                                   " TASK --help    with the task's own defaults\n\n");
  for (const TaskEntry& task : tasks) {
    const TrainOptions options = DefaultsOf(task);
    absl::StrAppendFormat(&usage, "  %-10s %s\n  %-10s %s, %s\n", task.name, task.help, "",
                          HowItTrains(options), Count(options.epochs, "epoch"));
  }
  absl::StrAppend(&usage, more);
  TrainOptions options;
  const std::set<std::string> own = {"optimizer", "lr",    "weight-decay",
                                     "schedule",  "batch", "epochs"};
  absl::StrAppend(&usage, "\n", TableOf(&options).Help(own), kLast);
  return usage;
}

// Answers --help or --version, wherever they stand. Returns none if neither is asked for.
std::optional<std::string> Answer(const std::string& program,
                                  const std::vector<std::string>& arguments,
                                  const std::vector<TaskEntry>& tasks, const std::string& more) {
  for (const std::string& argument : arguments) {
    if (argument == "--version") return absl::StrCat(program, " ", Version(), "\n");
    if (argument != "--help" && argument != "-h") continue;
    if (tasks.size() == 1) return UsageOf(program, tasks[0], more);
    for (const TaskEntry& task : tasks) {
      if (task.name == arguments[0]) return UsageOf(absl::StrCat(program, " ", task.name), task);
    }
    return Usage(program, tasks, more);
  }
  return std::nullopt;
}

const TaskEntry& FindTask(const std::vector<TaskEntry>& tasks, const std::string& name) {
  std::vector<std::string> names;
  for (const TaskEntry& task : tasks) {
    if (task.name == name) return task;
    names.push_back(task.name);
  }
  throw UsageError(
      absl::StrCat("there is no task '", OneLine(name), "'; there are ", JoinWords(names)));
}

// Returns the arguments from hpcctl run --param; none where there is no such run.
std::vector<std::string> ArgumentsOfRun(const std::string& program, const OptionTable& table) {
  const std::string path = ReadRunHooks().params_file;
  if (path.empty()) return {};
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok())
    throw UsageError(absl::StrCat("HPC_PARAMS_FILE: ", std::string(text.status().message())));
  const RunParams params = ParseRunParams(path, *text, table);
  for (const std::string& name : params.unused) {
    std::fprintf(stderr, "%s: the run's parameter '%s' is no option, and not used\n",
                 program.c_str(), name.c_str());
  }
  return params.arguments;
}

// This is not done by what trains, which may not know whether a value was set or is a default.
void TellWithoutEffect(const std::string& program, const TaskEntry& entry,
                       const TrainOptions& options, const OptionTable& table, int ranks) {
  const bool has_folder = !options.checkpoint_dir.empty() || !ReadRunHooks().checkpoint_dir.empty();
  for (const std::string& line :
       WithoutEffect(options, table, entry.name, entry.unused, has_folder, ranks)) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), line.c_str());
  }
}

int Train(const std::string& program, const TaskEntry& entry, const TrainOptions& options,
          const OptionTable& table) {
  std::string who;
  try {
    const LaunchEnvironment environment = ReadLaunchEnvironment();
    CheckTogether(options, environment.world_size);
    entry.check(options);
    if (environment.rank == 0) {
      TellWithoutEffect(program, entry, options, table, environment.world_size);
    }
    if (environment.world_size > 1) who = absl::StrCat("rank ", environment.rank, ": ");
    KeepFreedMemory();
    if (options.threads > 0) at::set_num_threads(static_cast<int>(options.threads));
    at::globalContext().setFloat32MatmulPrecision(options.fp32_matmul);
    const at::Device device = ChooseDevice(options.device, environment);
    std::vector<std::string> lines = {absl::StrCat("task ", entry.name)};
    for (const std::string& line : table.Lines()) lines.push_back(line);
    TrainingRun run(entry, options, std::move(lines), environment, device);
    const TrainSummary summary = run.Run();
    const LaunchEnvironment& last = run.environment();
    if (last.rank == 0) TellSummary(summary, entry.name, last.world_size, options.summary);
    if (summary.stopped) return kStopped;
    return OutputWasLost() ? 1 : 0;
  } catch (const UsageError&) {
    throw;
  } catch (const CollectiveError& error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
  } catch (const std::exception& error) {
    const std::string what = OneLineOf(error);
    std::fprintf(stderr, "%s: %s%s\n", program.c_str(),
                 absl::StartsWith(what, "rank ") ? "" : who.c_str(), what.c_str());
  }
  return 1;
}

}  // namespace

int TrainMain(int argc, char** argv, const std::vector<TaskEntry>& tasks, const std::string& more) {
  const std::string path = argc > 0 ? argv[0] : "hpc-train";
  const std::string program = path.substr(path.rfind('/') + 1);
  SetUpProcess();
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (const auto answer = Answer(program, arguments, tasks, more)) {
    Print(*answer);
    return OutputWasLost() ? 1 : 0;
  }
  try {
    const bool one = tasks.size() == 1;
    if (!one && (arguments.empty() || absl::StartsWith(arguments[0], "-"))) {
      throw UsageError("say first which task; --help lists them");
    }
    const TaskEntry& entry = one ? tasks[0] : FindTask(tasks, arguments[0]);
    if (!one) arguments.erase(arguments.begin());
    const TrainOptions defaults = DefaultsOf(entry);
    TrainOptions options = defaults;
    OptionTable table = TableOf(&options);
    table.Parse(ArgumentsOfRun(program, table));
    table.Parse(arguments);  // these win over the run's
    SetRatesOfOptimizer(defaults.optimizer, table, &options);
    return Train(program, entry, options, table);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
    return 2;
  }
}

}  // namespace hpc::train
