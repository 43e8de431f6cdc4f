#include "train/program/training_run.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/group/agreement.h"
#include "train/group/gloo_communicator.h"
#include "train/group/regroup.h"
#include "train/make_communicator.h"
#include "train/program/error_line.h"
#include "train/program/options/option_rules.h"
#include "train/program/summary_file.h"
#include "train/tool/standard_output.h"

namespace hpc::train {
namespace {

constexpr std::chrono::seconds kPatience{5};
std::chrono::milliseconds LongestJoin() { return GlooOptions().join_deadline; }

std::string JoinNumbers(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  for (int number : numbers) words.push_back(absl::StrCat(number));
  return JoinWords(words);
}

// Returns "rank 1 is gone" for the ranks of `before` that are not in `after`.
std::string WhoIsGone(const LaunchEnvironment& before, const LaunchEnvironment& after) {
  std::vector<int> gone;
  for (int rank = 0; rank < before.world_size; ++rank) {
    const int number = before.NumberOf(rank);
    const auto& left = after.numbers;
    if (std::find(left.begin(), left.end(), number) == left.end()) gone.push_back(number);
  }
  return gone.size() == 1 ? absl::StrCat("rank ", gone[0], " is gone")
                          : absl::StrCat("ranks ", JoinNumbers(gone), " are gone");
}

// Returns the ranks in a group of `left` that `group`, an earlier one, knows to have ended.
std::vector<int> GoneOf(const Communicator& group, const LaunchEnvironment& left) {
  std::vector<int> gone;
  for (int rank : group.Gone()) {
    for (int now = 0; now < left.world_size; ++now) {
      if (left.NumberOf(now) == group.NumberOf(rank)) gone.push_back(now);
    }
  }
  return gone;
}

// Returns whether all ranks throw this error at the same place.
bool AllHave(const std::exception& error) {
  return dynamic_cast<const TrainingError*>(&error) != nullptr ||
         dynamic_cast<const CheckpointError*>(&error) != nullptr;
}

}  // namespace

std::chrono::milliseconds StartDeadline(std::chrono::milliseconds deadline) {
  constexpr std::chrono::milliseconds kShortest = std::chrono::seconds(30);
  return std::clamp(deadline, kShortest, LongestJoin());
}

// The members stand in the order in which they are made.
struct TrainingRun::Parts {
  std::shared_ptr<Communicator> background;  // the checkpointer's group
  std::unique_ptr<Task> task;
  std::unique_ptr<Checkpointer> checkpoints;
  std::unique_ptr<Trainer> trainer;
};

TrainingRun::TrainingRun(const TaskEntry& entry, const TrainOptions& options,
                         std::vector<std::string> lines, const LaunchEnvironment& environment,
                         at::Device device)
    : entry_(entry),
      options_(options),
      lines_(std::move(lines)),
      environment_(environment),
      device_(device),
      hooks_(ReadRunHooks()),
      metrics_(hooks_.metrics_file) {
  if (options.keep_in_memory > 0) kept_ = std::make_unique<PeerSnapshots>();
}

TrainingRun::~TrainingRun() = default;

TrainSummary TrainingRun::Run() {
  try {
    return RunInGroups();
  } catch (const CollectiveError&) {
    // Otherwise the checkpointer's group would hold its writer until its deadline.
    if (parts_ != nullptr && parts_->background != nullptr) parts_->background->Abort("it leaves");
    throw;
  } catch (const std::exception& error) {
    const std::string what = OneLineOf(error);
    const bool for_all = !training_ || AllHave(error);
    for (const auto& group : {group_, parts_ == nullptr ? nullptr : parts_->background}) {
      if (group != nullptr) for_all ? group->AbortForAll(what) : group->Abort(what);
    }
    throw;
  }
}

TrainSummary TrainingRun::RunInGroups() {
  start_ = std::make_unique<StartWord>(environment_, JoinDeadline(),
                                       StartWaiting{.tell = [](const std::string& line) {
                                         std::fprintf(stderr, "%s\n", line.c_str());
                                       }});
  environment_.start = start_->word();
  group_ = MakeCommunicator(environment_, device_,
                            {.deadline = deadline(), .join_deadline = JoinDeadline()});
  if (device_.is_cuda()) at::accelerator::setDeviceIndex(device_.index());
  signals_ = std::make_unique<StopSignals>();
  for (;;) {
    std::optional<CollectiveError> failure;
    try {
      training_ = false;
      MakeParts();
      training_ = true;
      parts_->trainer->Run(&summary_);
      group_->Barrier({"end", {}})->Wait();
      return summary_;
    } catch (const CollectiveError& error) {
      if (options_.min_ranks == 0 || (groups_ == 0 && !training_)) throw;
      failure = error;
    }
    Regroup(*failure);
  }
}

// Makes the task anew, too, so that random numbers are drawn in the same order as before.
void TrainingRun::MakeParts() {
  parts_ = std::make_unique<Parts>();
  if (environment_.rank == 0 && groups_ == 0) TrySummaryFile(options_.summary);
  CheckSameOnAllRanks(*group_, lines_);
  at::manual_seed(static_cast<uint64_t>(options_.seed));
  parts_->task = entry_.make(options_);
  parts_->checkpoints = MakeCheckpointer();
  parts_->trainer =
      std::make_unique<Trainer>(parts_->task.get(), OptionsOfGroup(), group_, metrics_, *signals_,
                                parts_->checkpoints.get(), kept_.get(), device_);
  if (group_->rank() != 0 || groups_ > 0) return;
  const int restarts = environment_.restart_count;
  Print(absl::StrCat(
      entry_.name, ": ", Count(group_->size(), "rank"), " on ",
      DeviceTypeName(device_.type(), /*lower_case=*/true), ", ", HowItTrains(options_),
      restarts == 0 ? "" : absl::StrCat(", after ", Count(restarts, "restart")), "\n"));
}

// Whatever uses the dead group is only removed when all ranks that are left have the new one. Until
// then others may wait for this rank's part of it, and a rank that sees it go would take this one
// for missing.
void TrainingRun::Regroup(const CollectiveError& failure) {
  const LaunchEnvironment before = environment_;
  std::shared_ptr<Communicator> next;
  try {
    next = MakeGroupOfThoseLeft(failure.missing());
  } catch (const NoRegroupError& error) {
    throw CollectiveError(failure.missing(),
                          absl::StrCat(failure.what(), "; it does not go on: ", error.what()));
  }
  if (parts_->background != nullptr) parts_->background->Abort("those that are left regroup");
  parts_.reset();
  group_ = std::move(next);
  ++summary_.regroupings;
  if (group_->rank() != 0) return;
  Print(absl::StrCat(
      WhoIsGone(before, environment_), ", and ", Count(environment_.world_size, "rank"), " (",
      JoinNumbers(environment_.numbers), ") ", environment_.world_size == 1 ? "goes" : "go",
      " on: ", OneLine(failure.what()), "\n"));
}

// Tries again and again if more ranks go while the group is made. A rank that is asked to stop
// still waits for a moment: to stop after a step, with a checkpoint, is better than to leave now.
std::shared_ptr<Communicator> TrainingRun::MakeGroupOfThoseLeft(std::vector<int> missing) {
  const auto patient_until = std::chrono::steady_clock::now() + kPatience;
  auto give_up = [&] {
    return signals_->requested() && std::chrono::steady_clock::now() > patient_until;
  };
  auto gone = [&] { return GoneOf(*group_, environment_); };
  for (;;) {
    ++groups_;
    for (int rank : gone()) missing.push_back(rank);
    environment_ = AgreeOnThoseLeft(environment_, missing, groups_,
                                    {.deadline = deadline(),
                                     .min_ranks = static_cast<int>(options_.min_ranks),
                                     .gone = gone,
                                     .give_up = give_up});
    try {
      return MakeCommunicator(environment_, device_,
                              {.group = GroupName("main"),
                               .deadline = deadline(),
                               .join_deadline = JoinDeadline(),
                               .gone = gone});
    } catch (const CollectiveError& error) {
      missing = error.missing();
    }
  }
}

std::chrono::milliseconds TrainingRun::JoinDeadline() const {
  return groups_ == 0 ? StartDeadline(deadline()) : std::min(deadline(), LongestJoin());
}

// Returns none if there is no folder for checkpoints. Either all ranks have one, or none has.
std::unique_ptr<Checkpointer> TrainingRun::MakeCheckpointer() {
  const std::string folder =
      options_.checkpoint_dir.empty() ? hooks_.checkpoint_dir : options_.checkpoint_dir;
  CheckSameOnAllRanks(*group_, {folder.empty() ? "no checkpoints" : "checkpoints"});
  if (folder.empty()) return nullptr;
  parts_->background =
      MakeGlooCommunicator(environment_, {.group = GroupName("checkpoints"),
                                          .deadline = deadline(),
                                          .join_deadline = JoinDeadline(),
                                          .gone = [group = group_] { return group->Gone(); }});
  auto checkpoints = std::make_unique<Checkpointer>(
      CheckpointOptions{.folder = folder,
                        .run = hooks_.run,
                        .keep = {.latest = static_cast<int>(options_.keep)},
                        .start = environment_.start,
                        .restarts = environment_.restart_count},
      group_, parts_->background);
  if (group_->rank() == 0 && !checkpoints->warning().empty()) {
    std::fprintf(stderr, "%s\n", checkpoints->warning().c_str());
  }
  return checkpoints;
}

// Keeps the shares of the ranks that are left.
TrainOptions TrainingRun::OptionsOfGroup() const {
  TrainOptions options = options_;
  if (groups_ == 0 || options_.shares.empty()) return options;
  options.shares.clear();
  for (int number : environment_.numbers) options.shares.push_back(options_.shares.at(number));
  return options;
}

std::string TrainingRun::GroupName(const std::string& name) const {
  return groups_ == 0 ? name : absl::StrCat(name, ".", groups_);
}

}  // namespace hpc::train
