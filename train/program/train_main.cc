#include "train/program/train_main.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "common/text.h"
#include "train/agreement.h"
#include "train/gloo_communicator.h"
#include "train/kept_memory.h"
#include "train/launch_environment.h"
#include "train/make_communicator.h"
#include "train/program/run_params.h"
#include "train/program/trainer.h"

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

// LibTorch's errors have a page of stack behind their first line.
std::string OneLineOf(const std::exception& error) {
  const std::string text = error.what();
  if (absl::StrContains(text, "DefaultCPUAllocator: ") ||
      absl::StrContains(text, "out of memory") ||
      dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return absl::StrCat("out of memory: lower --batch, or use --recompute or --precision bf16 (",
                        OneLine(text.substr(0, text.find('\n'))), ")");
  }
  return OneLine(text.substr(0, text.find('\n')));
}

std::string JsonOf(const std::string& task, int ranks, const TrainSummary& summary) {
  auto number = [](double value) {
    return std::isfinite(value) ? absl::StrFormat("%.9g", value) : std::string("null");
  };
  std::string json = absl::StrCat(
      "{\"task\": \"", task, "\", \"ranks\": ", ranks, ", \"epochs\": ", summary.epochs,
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

// None where there is no folder for them. All ranks have one, or none has.
std::unique_ptr<Checkpointer> MakeCheckpointer(const TrainOptions& options, const RunHooks& hooks,
                                               const LaunchEnvironment& environment,
                                               const std::shared_ptr<Communicator>& group) {
  const std::string folder =
      options.checkpoint_dir.empty() ? hooks.checkpoint_dir : options.checkpoint_dir;
  CheckSameOnAllRanks(*group, {folder.empty() ? "no checkpoints" : "checkpoints"});
  if (folder.empty()) return nullptr;
  return std::make_unique<Checkpointer>(
      CheckpointOptions{
          .folder = folder, .run = hooks.run, .keep = {.latest = static_cast<int>(options.keep)}},
      group,
      MakeGlooCommunicator(environment, {.group = "checkpoints",
                                         .deadline = std::chrono::seconds(options.deadline)}));
}

TrainSummary TrainAsRank(const TaskEntry& entry, const TrainOptions& options,
                         const std::vector<std::string>& lines,
                         const LaunchEnvironment& environment, at::Device device,
                         const std::shared_ptr<Communicator>& group) {
  const StopSignals signals;
  const RunHooks hooks = ReadRunHooks();
  const Metrics metrics(hooks.metrics_file);
  CheckSameOnAllRanks(*group, lines);
  at::manual_seed(static_cast<uint64_t>(options.seed));
  const std::unique_ptr<Task> task = entry.make(options);
  const auto checkpoints = MakeCheckpointer(options, hooks, environment, group);
  Trainer trainer(task.get(), options, group, metrics, signals, checkpoints.get(), device);
  if (group->rank() == 0) {
    std::printf(
        "%s: %s on %s%s\n", entry.name.c_str(), Count(group->size(), "rank").c_str(),
        DeviceTypeName(device.type(), /*lower_case=*/true).c_str(),
        environment.restart_count == 0
            ? ""
            : absl::StrCat(", after ", Count(environment.restart_count, "restart")).c_str());
    std::fflush(stdout);
  }
  TrainSummary summary = trainer.Run();
  group->Barrier({"end", {}})->Wait();
  return summary;
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
  std::shared_ptr<Communicator> group;
  try {
    const LaunchEnvironment environment = ReadLaunchEnvironment();
    if (environment.world_size > 1) who = absl::StrCat("rank ", environment.rank, ": ");
    KeepFreedMemory();
    if (options.threads > 0) at::set_num_threads(static_cast<int>(options.threads));
    const at::Device device = ChooseDevice(options.device, environment);
    group =
        MakeCommunicator(environment, device, {.deadline = std::chrono::seconds(options.deadline)});
    if (device.is_cuda()) at::accelerator::setDeviceIndex(device.index());
    lines.push_back(absl::StrCat("task ", entry.name));
    const TrainSummary summary = TrainAsRank(entry, options, lines, environment, device, group);
    if (environment.rank == 0) Tell(summary, entry.name, environment.world_size, options.summary);
    return summary.stopped ? kStopped : 0;
  } catch (const CollectiveError& error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
  } catch (const std::exception& error) {
    const std::string what = OneLineOf(error);
    if (group != nullptr) group->Abort(absl::StrCat(who, what));
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
    return Train(program, entry, options, table.Lines());
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
    return 2;
  }
}

}  // namespace hpc::train
