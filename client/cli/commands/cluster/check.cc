// hpcctl check: measure the PCs and the network between them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/follow/attached_run.h"
#include "client/cli/input/caller.h"
#include "client/cli/input/run_spec.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

constexpr absl::Duration kTimeLimit = absl::Minutes(15);

template <typename Names>
bool Contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool HasGpu(const v1::Node& node) {
  const auto& devices = node.inventory().devices();
  return std::any_of(devices.begin(), devices.end(),
                     [](const v1::Device& device) { return device.kind() == v1::DEVICE_KIND_GPU; });
}

class CheckCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "Runs 'hpc-train check' on every PC that is idle (with a GPU, if any has one): "
        "all-reduces\n"
        "of growing size, each link both ways, a step of training. What is wrong is named: a slow\n"
        "link or port, a PC that is slower than the others, versions that differ. hpc-train is on "
        "a\n"
        "PC after 'sudo deploy/install.sh train' there.\n\n"
        "The exit code is 0, or 1 if something is wrong.");
    options->Group("Where it runs");
    DeclareRunOption("nodes", "on how many nodes (default: all that are idle)", options, &run_);
    DeclareRunOption("nodelist", "only these nodes", options, &run_);
    DeclareRunOption("exclude", "never these nodes", options, &run_);
    options->Text("--program", "PATH", &program_,
                  "the program, where it is on every node (default: hpc-train)");
    options->Group("What it measures");
    options->Integer("--largest-mib", "M", &largest_mib_, 1, 4096,
                     "MiB of the largest all-reduce (default 64)");
    options->Integer("--threads", "T", &threads_, 1, 4096,
                     "CPU threads of each PC for the step of training (default: all cores)");
    options->Choice("--device", &device_, {"auto", "cpu", "cuda"},
                    "what is measured (default auto: the GPU, if there is any)");
    options->Integer("--measure-ms", "T", &measure_ms_, 1, 60'000,
                     "each figure for so long at least (default 300)");
    options->Flag("--json", &json_, "print JSON");
    options->Example("hpcctl check");
    options->Example("hpcctl check -N 4 --json");
  }

  absl::StatusOr<int> Run(Session* session) override {
    if (program_.find('/') != std::string::npos && program_[0] != '/') {
      return UsageError(absl::StrCat("--program: ", program_,
                                     " is not where a PC finds it from anywhere: begin with /"));
    }
    Caller caller = ThisCaller();
    caller.workdir = "/";  // exists on every PC and holds none of the caller's code
    AttachedRun attached(session, caller);
    run_.spec.set_ranks_per_node(1);
    run_.spec.set_time_limit_ms(absl::ToInt64Milliseconds(kTimeLimit));
    run_.spec.set_name("check");
    // Warnings are hidden, since the user wants to read the findings. Idle threads must not spin: a
    // thread that spins while it waits takes a core that another one needs. A step then takes 20
    // times as long, and its time says nothing about the PC.
    run_.env = {"TORCH_CPP_LOG_LEVEL=ERROR", "OMP_WAIT_POLICY=PASSIVE"};
    run_.command = {program_, "check"};
    if (largest_mib_ > 0) Add("--largest-mib", largest_mib_);
    if (measure_ms_ > 0) Add("--measure-ms", measure_ms_);
    if (threads_ > 0) Add("--threads", threads_);
    if (!device_.empty()) run_.command.insert(run_.command.end(), {"--device", device_});
    if (json_) run_.command.push_back("--json");
    HPC_ASSIGN_OR_RETURN(v1::RunSpec spec, BuildSpec(run_, caller));
    if (spec.min_nodes() == 0) {
      HPC_RETURN_IF_ERROR(TakeAllIdle(session));
      HPC_ASSIGN_OR_RETURN(spec, BuildSpec(run_, caller));
    }
    return attached.Run(std::move(spec), Labelling::kNever);
  }

 private:
  absl::Status TakeAllIdle(Session* session) {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const v1::ListNodesResponse response, client->ListNodes());
    // If a PC is unknown, the coordinator refuses the run and names the PCs that exist.
    if (!AllAreKnown(response)) return absl::OkStatus();
    int nodes = 0, with_gpus = 0;
    for (const v1::Node& node : response.nodes()) {
      if (!IsWanted(node.name()) || node.state() != "idle") continue;
      ++nodes;
      with_gpus += HasGpu(node) ? 1 : 0;
    }
    // If some PCs have GPUs, the run takes only those.
    if (with_gpus > 0) nodes = with_gpus;
    if (nodes == 0) {
      return absl::FailedPreconditionError(
          "no such PC is idle: 'hpcctl nodes' says what they do. 'hpcctl check -N 4' waits for "
          "four");
    }
    run_.spec.set_min_nodes(nodes);
    return absl::OkStatus();
  }

  // Returns whether all PCs of --nodelist and --exclude are known.
  bool AllAreKnown(const v1::ListNodesResponse& response) const {
    std::vector<std::string> known;
    for (const v1::Node& node : response.nodes()) known.push_back(node.name());
    const auto is_known = [&](const std::string& name) { return Contains(known, name); };
    return std::all_of(run_.spec.node_list().begin(), run_.spec.node_list().end(), is_known) &&
           std::all_of(run_.spec.exclude().begin(), run_.spec.exclude().end(), is_known);
  }

  bool IsWanted(const std::string& node) const {
    return (run_.spec.node_list().empty() || Contains(run_.spec.node_list(), node)) &&
           !Contains(run_.spec.exclude(), node);
  }

  void Add(const char* option, int32_t value) {
    run_.command.push_back(option);
    run_.command.push_back(absl::StrCat(value));
  }

  RunOptions run_;
  std::string program_ = "hpc-train";
  int32_t largest_mib_ = 0, measure_ms_ = 0, threads_ = 0;
  std::string device_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCheck() { return std::make_unique<CheckCommand>(); }

}  // namespace hpc::client
