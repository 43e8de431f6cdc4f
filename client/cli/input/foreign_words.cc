#include "client/cli/input/foreign_words.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/text.h"

namespace hpc::client {
namespace {

struct Word {
  absl::string_view theirs, ours;
};

constexpr absl::string_view kRun = "'hpcctl run -N 2 -- COMMAND' runs a command on two nodes.";
constexpr absl::string_view kQueue =
    "'hpcctl run --detach -- COMMAND' queues a run, 'hpcctl submit FILE' many.";
constexpr absl::string_view kRuns = "'hpcctl runs' lists the runs.";
constexpr absl::string_view kNodes = "'hpcctl nodes' lists the PCs and what they are doing.";
constexpr absl::string_view kShow = "'hpcctl show RUN' tells everything about a run.";
constexpr absl::string_view kCancel = "'hpcctl cancel RUN' ends a run.";
constexpr absl::string_view kLogs = "'hpcctl logs -f RUN' follows a run's output.";
constexpr absl::string_view kReclaim = "'hpcctl reclaim NODE' gives a PC back to its owner.";

constexpr Word kCommands[] = {
    {"accelerate", kRun}, {"deepspeed", kRun}, {"exec", kRun},     {"launch", kRun},
    {"mpirun", kRun},     {"srun", kRun},      {"start", kRun},    {"torchrun", kRun},
    {"qsub", kQueue},     {"queue", kQueue},   {"sbatch", kQueue}, {"jobs", kRuns},
    {"list", kRuns},      {"ls", kRuns},       {"ps", kRuns},      {"qstat", kRuns},
    {"squeue", kRuns},    {"sinfo", kNodes},   {"top", kNodes},    {"nvidia-smi", kNodes},
    {"describe", kShow},  {"info", kShow},     {"inspect", kShow}, {"sacct", kShow},
    {"scontrol", kShow},  {"kill", kCancel},   {"qdel", kCancel},  {"rm", kCancel},
    {"scancel", kCancel}, {"stop", kCancel},   {"attach", kLogs},  {"log", kLogs},
    {"tail", kLogs},      {"drain", kReclaim},
};

constexpr absl::string_view kTasks =
    "-N says how many nodes, --ranks-per-node how many processes on each.";
constexpr absl::string_view kTime =
    "--time-limit says how long, as in 10m or 2h; a number alone is seconds.";
constexpr absl::string_view kNodesOption = "-N says how many nodes.";
constexpr absl::string_view kRanksOption = "--ranks-per-node says how many processes on each node.";
constexpr absl::string_view kGpusOption = "--gpus-per-node says how many GPUs of each node.";
constexpr absl::string_view kOutput =
    "The output is kept, and 'hpcctl logs RUN' shows it; '> FILE' behind the command writes it "
    "here.";
constexpr absl::string_view kPartition =
    "There are no partitions: --nodelist and --exclude choose nodes, and --gpus-per-node says what "
    "they must have.";
constexpr absl::string_view kArray = "'hpcctl submit FILE' queues one run for each line of a file.";
constexpr absl::string_view kShared =
    "Cores and memory are not divided: the ranks on a node share all of it. Leave it out.";
constexpr absl::string_view kNoAccounts = "Nobody is charged for runs. Leave it out.";
constexpr absl::string_view kNoMail =
    "Nobody is sent mail: 'hpcctl wait RUN && mail ...' tells of a run's end.";
constexpr absl::string_view kNoTerminal = "Ranks have no terminal. Leave it out.";

constexpr Word kRunOptions[] = {
    {"-n", kTasks},
    {"-np", kTasks},
    {"--nnodes", kNodesOption},
    {"--num-nodes", kNodesOption},
    {"--ntasks", kTasks},
    {"--nproc-per-node", kRanksOption},
    {"--nproc_per_node", kRanksOption},
    {"--ntasks-per-node", kRanksOption},
    {"--gpus", kGpusOption},
    {"--gres", kGpusOption},
    {"-t", kTime},
    {"--time", kTime},
    {"-w", "--nodelist names the nodes."},
    {"-x", "--exclude names the nodes to leave out."},
    {"-J", "--name names the run."},
    {"--job-name", "--name names the run."},
    {"-d", "--after names the run to wait for, --detach does not wait for the end."},
    {"--dependency", "--after names the run to wait for."},
    {"-D", "--workdir names the directory."},
    {"--chdir", "--workdir names the directory."},
    {"--export", "--env K=V sets a variable, --env-all copies all."},
    {"-o", kOutput},
    {"--output", kOutput},
    {"-e", kOutput},
    {"--error", kOutput},
    {"-p", kPartition},
    {"--partition", kPartition},
    {"-a", kArray},
    {"--array", kArray},
    {"-c", kShared},
    {"--cpus-per-task", kShared},
    {"--mem", kShared},
    {"--mem-per-cpu", kShared},
    {"--mem-per-gpu", kShared},
    {"--exclusive",
     "A run has its GPUs for itself, and without --gpus-per-node all those of its nodes."},
    {"--nice", "--priority says who goes first."},
    {"--requeue",
     "A run is queued again by itself when a PC goes; --max-restarts says how often after failures "
     "of "
     "its own."},
    {"--signal", "--stop-signal names the signal, and --stop-grace the time that it leaves."},
    {"-A", kNoAccounts},
    {"--account", kNoAccounts},
    {"-q", kNoAccounts},
    {"--qos", kNoAccounts},
    {"-i", kNoTerminal},
    {"-it", kNoTerminal},
    {"--pty", kNoTerminal},
    {"-l", "--label labels each line with its rank."},
    {"--wrap", "The command stands behind '--', as it is typed in a shell: bash -c '...'."},
    {"-H", "--hold keeps a run from starting before 'hpcctl release'."},
    {"--begin", "A run cannot wait for a time. --after RUN waits for another run's success."},
    {"--mail-type", kNoMail},
    {"--mail-user", kNoMail},
};

template <size_t n>
absl::string_view Ours(const Word (&words)[n], absl::string_view typed) {
  for (const Word& word : words) {
    if (word.theirs == typed) return word.ours;
  }
  return "";
}

}  // namespace

absl::string_view OursForCommand(absl::string_view typed) { return Ours(kCommands, typed); }

absl::string_view OursForRunOption(absl::string_view typed) { return Ours(kRunOptions, typed); }

std::string SlurmLinesHint(absl::string_view file, absl::string_view script) {
  std::vector<std::string> options;
  bool is_array = false;
  for (absl::string_view line : absl::StrSplit(script, '\n')) {
    if (!absl::ConsumePrefix(&line, "#SBATCH")) continue;
    // A comment may stand behind the option.
    line = absl::StripAsciiWhitespace(line.substr(0, line.find(" #")));
    is_array = is_array || absl::StartsWith(line, "--array") || absl::StartsWith(line, "-a");
    options.emplace_back(line);
  }
  if (options.empty()) return "";
  constexpr size_t kNamed = 4;
  return absl::StrCat("the #SBATCH lines in ", file, " are not read (",
                      JoinSome(std::move(options), kNamed),
                      "): give 'hpcctl run' options of its own in front of '--', as -N 2",
                      is_array ? "; this is one run, and 'hpcctl submit' queues a run for each "
                                 "task of an array, one line each"
                               : "");
}

}  // namespace hpc::client
