#include "train/program/train_main.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "common/text.h"
#include "train/kept_memory.h"
#include "train/launch_environment.h"
#include "train/make_communicator.h"
#include "train/program/one_line.h"
#include "train/program/run_params.h"
#include "train/program/training_run.h"

namespace hpc::train {
namespace {

constexpr int kStopped = 128 + SIGTERM;

std::string Usage(const std::string& program, const std::vector<TaskEntry>& tasks,
                  const std::string& more) {
  std::string usage =
      absl::StrCat("usage: ", program, tasks.size() > 1 ? " TASK" : "", " [OPTION...]\n\n");
  for (const TaskEntry& task : tasks) {
    absl::StrAppendFormat(&usage, "  %-10s %s\n", task.name, task.help);
  }
  absl::StrAppend(&usage, more);
  TrainOptions options;
  absl::StrAppend(&usage, "\n", TableOf(&options).Help(),
                  "\nUnder hpcctl run, torchrun, or alone. docs/TRAINING.md says more.\n");
  return usage;
}

const TaskEntry& FindTask(const std::vector<TaskEntry>& tasks, const std::string& name) {
  std::vector<std::string> names;
  for (const TaskEntry& task : tasks) {
    if (task.name == name) return task;
    names.push_back(task.name);
  }
  throw UsageError(absl::StrCat("there is no task '", name, "'; there are ", JoinWords(names)));
}

std::string JsonOf(const std::string& task, int ranks, const TrainSummary& summary) {
  auto number = [](double value) {
    return std::isfinite(value) ? absl::StrFormat("%.9g", value) : std::string("null");
  };
  std::string json =
      absl::StrCat("{\"task\": \"", task, "\", \"ranks\": ", ranks,
                   ", \"regroupings\": ", summary.regroupings, ", \"epochs\": ", summary.epochs,
                   ", \"steps\": ", summary.steps, ", \"samples\": ", summary.samples,
                   ", \"skipped_steps\": ", summary.skipped, ", \"loss\": ", number(summary.loss));
  for (const auto& [name, value] : summary.test) {
    absl::StrAppend(&json, ", \"test_", name, "\": ", number(value));
  }
  absl::StrAppend(&json, ", \"seconds\": ", number(summary.seconds),
                  ", \"samples_per_second\": ", number(summary.samples_per_second),
                  ", \"data_wait_share\": ", number(summary.data_wait_share),
                  ", \"stopped\": ", summary.stopped ? "true" : "false", "}");
  return json;
}

void Tell(const TrainSummary& summary, const std::string& task, int ranks,
          const std::string& file) {
  const std::string json = JsonOf(task, ranks, summary);
  std::printf("%s\n", json.c_str());
  std::fflush(stdout);
  if (file.empty()) return;
  if (const absl::Status written = WriteFileAtomically(file, json + "\n", 0644); !written.ok()) {
    throw std::runtime_error(
        absl::StrCat("--summary ", file, ": ", std::string(written.message())));
  }
}

// Of hpcctl run --param; none where there is no such run.
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

int Train(const std::string& program, const TaskEntry& entry, const TrainOptions& options,
          std::vector<std::string> lines) {
  std::string who;
  try {
    const LaunchEnvironment environment = ReadLaunchEnvironment();
    if (environment.world_size > 1) who = absl::StrCat("rank ", environment.rank, ": ");
    KeepFreedMemory();
    if (options.threads > 0) at::set_num_threads(static_cast<int>(options.threads));
    const at::Device device = ChooseDevice(options.device, environment);
    lines.push_back(absl::StrCat("task ", entry.name));
    TrainingRun run(entry, options, std::move(lines), environment, device);
    const TrainSummary summary = run.Run();
    const LaunchEnvironment& last = run.environment();
    if (last.rank == 0) Tell(summary, entry.name, last.world_size, options.summary);
    return summary.stopped ? kStopped : 0;
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
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  for (const std::string& argument : arguments) {
    if (argument != "--help" && argument != "-h") continue;
    std::printf("%s", Usage(program, tasks, more).c_str());
    return 0;
  }
  try {
    const bool one = tasks.size() == 1;
    if (!one && (arguments.empty() || absl::StartsWith(arguments[0], "-"))) {
      throw UsageError("say first which task; --help lists them");
    }
    const TaskEntry& entry = one ? tasks[0] : FindTask(tasks, arguments[0]);
    if (!one) arguments.erase(arguments.begin());
    TrainOptions options;
    entry.set_defaults(&options);
    OptionTable table = TableOf(&options);
    table.Parse(ArgumentsOfRun(program, table));
    table.Parse(arguments);  // which count for more
    if (options.keep_in_memory > 0 && options.min_ranks == 0) {
      throw UsageError("--keep-in-memory is for ranks that go on in place: say --min-ranks too");
    }
    return Train(program, entry, options, table.Lines());
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
    return 2;
  }
}

}  // namespace hpc::train
