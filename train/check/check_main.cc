#include "train/check/check_main.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/check/gang_check.h"
#include "train/check/report.h"
#include "train/group/agreement.h"
#include "train/group/gloo_communicator.h"
#include "train/group/reason.h"
#include "train/group/start_word.h"
#include "train/make_communicator.h"
#include "train/net/launch_environment.h"
#include "train/net/own_address.h"
#include "train/tool/option_table.h"
#include "train/tool/process_setup.h"
#include "train/tool/standard_output.h"

namespace hpc::train {
namespace {

struct Options {
  int64_t largest_mib = 64;
  int64_t measure_ms = 300;
  int64_t threads = 0;
  std::string device = "auto";
  bool json = false;
};

OptionTable TableOf(Options* options) {
  OptionTable table;
  table.Whole("largest-mib", &options->largest_mib, 1, "MiB of the largest all-reduce",
              OptionTable::Compared::kYes, 4096);
  table.Whole("measure-ms", &options->measure_ms, 1, "measure each figure for so long at least",
              OptionTable::Compared::kYes, 60'000);
  table.Whole("threads", &options->threads, 0, "of a training step; 0: as many as LibTorch takes",
              OptionTable::Compared::kNo);
  table.Choice("device", &options->device, {"auto", "cpu", "cuda"},
               "auto: the GPU of number LOCAL_RANK, if there is any; all ranks have one, or none",
               OptionTable::Compared::kNo);
  table.Switch("json", &options->json, "one JSON object instead of tables");
  return table;
}

// Returns this PC's name: the one that hpcctl calls it by, or else its own.
std::string HostName() {
  if (const char* node = std::getenv("HPC_NODE")) return OneLine(node);
  char name[256] = "?";
  gethostname(name, sizeof name - 1);
  return OneLine(name);
}

// Writes to stderr, so that it comes neither between the tables nor into the JSON.
void Tell(const std::string& stage) { std::fprintf(stderr, "check: %s\n", stage.c_str()); }

// How far the check has come.
struct Checking {
  LaunchEnvironment environment;
  std::shared_ptr<Communicator> group;
  bool begun = false;  // from then on an error is this rank's own fault
  GangResult gang;
  bool told = false;
};

// One of the ranks that are left says what broke the gang, if JSON was asked for. So a program that
// reads the JSON gets an object in any case.
void TellBroken(const Options& options, const Checking& checking, const Broken& broken) {
  int first = 0;
  while (std::count(broken.ranks.begin(), broken.ranks.end(), first) != 0) ++first;
  if (!options.json || checking.told || checking.environment.rank != first) return;
  Print(ReportJson(checking.gang, {broken.error}, broken));
}

int Check(const Options& options, at::Device device, Checking* checking) {
  const LaunchEnvironment& environment = checking->environment;
  const std::shared_ptr<Communicator>& group = checking->group;
  checking->begun = true;
  RankSelf self = {.host = HostName()};
  if (environment.world_size > 1) self.address = OwnAddress(environment);
  GangCheckOptions how = {.largest_mib = options.largest_mib,
                          .measure = std::chrono::milliseconds(options.measure_ms),
                          .device = device};
  if (group->rank() == 0) how.tell = Tell;
  CheckGang(group, self, how, &checking->gang);
  const std::vector<std::string> findings = FindingsOf(checking->gang);
  if (group->rank() == 0) {
    Print(options.json ? ReportJson(checking->gang, findings)
                       : ReportTable(checking->gang, findings));
    checking->told = true;
  }
  group->Barrier({"check: end", {}})->Wait();
  return findings.empty() && !OutputWasLost() ? 0 : 1;
}

}  // namespace

int CheckMain(const std::string& program, const std::vector<std::string>& arguments) {
  SetUpProcess();
  Options options;
  OptionTable table = TableOf(&options);
  for (const std::string& argument : arguments) {
    if (argument != "--help" && argument != "-h") continue;
    Print(absl::StrCat(
        "usage: ", program, " check [OPTION...]\n\n",
        "Measures the PCs of a gang and the network between them, and names what is wrong.\n\n",
        table.Help(), "\nUnder hpcctl run, torchrun, or alone. docs/TRAINING.md says more.\n"));
    return OutputWasLost() ? 1 : 0;
  }
  std::string who;
  Checking checking;
  try {
    table.Parse(arguments);
    const LaunchEnvironment& environment = checking.environment = ReadLaunchEnvironment();
    if (environment.world_size > 1) who = absl::StrCat("rank ", environment.rank, ": ");
    if (options.threads > 0) at::set_num_threads(static_cast<int>(options.threads));
    const at::Device device = ChooseDevice(options.device, environment);
    if (device.is_cuda()) KeepStandardOutput();
    if (environment.rank == 0 && environment.world_size > 1) {
      Tell(absl::StrCat("waiting for all ", environment.world_size, " ranks"));
    }
    const StartWord start(environment, GlooOptions().join_deadline);
    checking.environment.start = start.word();
    checking.group = MakeCommunicator(environment, device, {.group = "check"});
    if (device.is_cuda()) at::accelerator::setDeviceIndex(device.index());
    CheckSameOnAllRanks(*checking.group, table.Lines());
    return Check(options, device, &checking);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s check: %s\n", program.c_str(), error.what());
    return 2;
  } catch (const CollectiveError& error) {
    std::fprintf(stderr, "%s check: %s\n", program.c_str(), error.what());
    TellBroken(options, checking, {error.what(), error.missing()});
  } catch (const std::exception& error) {
    std::string what = ReasonOf(error);
    if (!absl::StartsWith(what, "rank ")) what = absl::StrCat(who, what);
    if (checking.group != nullptr) checking.group->Abort(what);
    std::fprintf(stderr, "%s check: %s\n", program.c_str(), what.c_str());
    Broken broken = {what, {}};
    if (checking.begun && checking.environment.world_size > 1) {
      broken.ranks = {checking.environment.rank};  // the others are told the same
    }
    TellBroken(options, checking, broken);
  }
  return 1;
}

}  // namespace hpc::train
