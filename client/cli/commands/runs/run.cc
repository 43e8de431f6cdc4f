// hpcctl run: submit one run and stay with it.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/find_run.h"
#include "client/cli/follow/attached_run.h"
#include "client/cli/hints/address_check.h"
#include "client/cli/hints/script_check.h"
#include "client/cli/input/caller.h"
#include "client/cli/input/code_state.h"
#include "client/cli/input/foreign_words.h"
#include "client/cli/input/launcher_check.h"
#include "client/cli/input/per_node_check.h"
#include "client/cli/input/program_on_stdin.h"
#include "client/cli/input/run_spec.h"
#include "client/cli/input/usage_error.h"
#include "common/files/files.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

// The text of the run's script, which is mostly here as well; "" if it is not, or has no script.
std::string ReadScript(const v1::RunSpec& spec) {
  constexpr size_t kMaxBytes = 64 << 10;
  const std::string name = ScriptOf(spec.command());
  if (!absl::StrContains(name, "/") && name == spec.command(0)) return "";  // it is found by PATH
  const std::filesystem::path path = std::filesystem::path(spec.workdir()) / name;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  return ReadFile(path, kMaxBytes).value_or("");
}

class RunCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "By default it runs on one node, with every GPU of it and one process for each; on a node\n"
        "without a GPU with one process. Processes get their place in the gang from torchrun's\n"
        "variables (RANK, WORLD_SIZE, MASTER_ADDR ...) and start together or not at all.\n\n"
        "The exit code is the run's own: 0, or that of the process that failed first. Ctrl-C once\n"
        "cancels the run and waits for its end; twice does not wait.");
    DeclareRunOptions(options, &run_);
    options->Group("How it is followed");
    options->Flag("--detach", &detach_, "print the run's number and do not wait");
    options->Flag("--json", &json_, "with --detach: print it as JSON, {\"id\": 12}");
    options->Flag("--label", &label_, "label lines with their rank even when there is only one");
    options->Flag("--no-label", &no_label_, "do not label lines with their rank");
    options->Program(&run_.command);
    options->Example("hpcctl run -N 4 -- python train.py --lr 0.1");
    options->Example("hpcctl run -N 2:4 --gpus-per-node 1 --time-limit 2h -- python train.py");
    options->Example("hpcctl run -N 2 --mode per-node -- torchrun train.py");
    options->Example("hpcctl run --experiment lr --param lr=0.1 --env WANDB_MODE -- ./train.sh");
  }

  absl::StatusOr<int> Run(Session* session) override {
    const Caller caller = ThisCaller();
    const bool reads_program = ReadsProgram(run_.command);
    if (reads_program) {
      HPC_ASSIGN_OR_RETURN(const std::string program, ReadProgram(run_.command, STDIN_FILENO));
      run_.command = WithProgram(run_.command, program);
    } else if (const std::string reads = WordThatReadsInput(run_.command);
               !reads.empty() && IsFed(STDIN_FILENO)) {
      return UsageError(absl::StrCat(
          "'", reads,
          "' reads its program from the standard input, which ranks find empty: put it ",
          "into a file that every node has, or leave out what stands in front of it."));
    }
    HPC_ASSIGN_OR_RETURN(v1::RunSpec spec, BuildSpec(run_, caller));
    if (json_ && !detach_) {
      return UsageError("--json needs --detach: otherwise the run's own output is printed.");
    }
    const std::string script = ReadScript(spec);
    for (const std::string& hint :
         {LauncherHint(spec, script), PerNodeHint(spec, script), MasterAddressHint(spec, script),
          SlurmLinesHint(ScriptOf(spec.command()), script), PipeHint(spec, script),
          TrainerHint(spec, script)}) {
      if (!hint.empty()) session->Notice(hint);
    }
    if (spec.store_host() == v1::STORE_HOST_UNSPECIFIED && StartsProgramsInTurn(spec, script)) {
      spec.set_store_host(v1::STORE_HOST_RANK0);
    }
    if (!reads_program && HasInput(STDIN_FILENO)) {
      session->Notice(
          "the standard input is not passed on: ranks find theirs empty. Let the program read a "
          "file, or give '< /dev/null'");
    }
    if (detach_) return Detached(session, caller, &spec);
    AttachedRun attached(session, caller);
    HPC_RETURN_IF_ERROR(FindRunBefore(session, &spec));
    return attached.Run(std::move(spec), LabellingAsked());
  }

 private:
  // Looks up the run of --after, if that is a name.
  absl::Status FindRunBefore(Session* session, v1::RunSpec* spec) const {
    if (run_.after.empty()) return absl::OkStatus();
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const int64_t run, FindRun(client, run_.after));
    spec->set_after_run(run);
    return absl::OkStatus();
  }

  absl::StatusOr<int> Detached(Session* session, const Caller& caller, v1::RunSpec* spec) {
    CodeStateReader code(caller.workdir);
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_RETURN_IF_ERROR(FindRunBefore(session, spec));
    *spec->mutable_code() = code.Finish(kCodeStateTime);
    HPC_ASSIGN_OR_RETURN(const int64_t id, client->Submit(*spec));
    session->out().Write(json_ ? absl::StrCat("{\"id\":", id, "}\n") : absl::StrCat(id, "\n"));
    if (session->err().terminal()) {
      session->Notice(absl::StrCat("run ", id, " is queued. 'hpcctl logs -f ", id, "' follows it"));
    }
    return kExitOk;
  }

  Labelling LabellingAsked() const {
    if (no_label_) return Labelling::kNever;
    return label_ ? Labelling::kAlways : Labelling::kAuto;
  }

  RunOptions run_;
  bool detach_ = false;
  bool json_ = false;
  bool label_ = false;
  bool no_label_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRun() { return std::make_unique<RunCommand>(); }

}  // namespace hpc::client
