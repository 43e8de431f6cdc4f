#include "client/cli/command.h"
#include "client/cli/commands.h"

namespace hpc::client {
namespace {

constexpr char kRunning[] = "Running";
constexpr char kLooking[] = "Looking";
constexpr char kAsking[] = "One run in detail";
constexpr char kOwning[] = "PCs and their owners";
constexpr char kTrusting[] = "Who belongs to the cluster";
constexpr char kOther[] = "Other";

}  // namespace

const std::vector<CommandInfo>& AllCommands() {
  static const auto* commands = new std::vector<CommandInfo>{
      {"run", kRunning, "run a command on one or more nodes and stay with it", MakeRun},
      {"submit", kRunning, "queue many runs from one stream of JSON lines", MakeSubmit},
      {"wait", kRunning, "wait until a run is over", MakeWait},
      {"cancel", kRunning, "end a run", MakeCancel},
      {"hold", kRunning, "keep a queued run from starting", MakeHold},
      {"release", kRunning, "let a run that is held start", MakeRelease},
      {"change", kRunning, "change what a queued run asks for", MakeChange},
      {"check", kRunning, "measure the PCs and the network between them", MakeCheck},
      {"status", kLooking, "the cluster at a glance", MakeStatus},
      {"nodes", kLooking, "list the PCs and what they are doing", MakeNodes},
      {"runs", kLooking, "list the runs, newest first", MakeRuns},
      {"experiments", kLooking, "list the experiments", MakeExperiments},
      {"events", kLooking, "list decisions and observations with their reasons", MakeEvents},
      {"why", kAsking, "say why a run or a node is as it is", MakeWhy},
      {"show", kAsking, "tell everything about a run", MakeShow},
      {"logs", kAsking, "print a run's output", MakeLogs},
      {"metrics", kAsking, "list what a run has measured", MakeMetrics},
      {"reclaim", kOwning, "give a PC back to its owner", MakeReclaim},
      {"lend", kOwning, "lend a PC to the cluster again", MakeLend},
      {"sleep", kOwning, "drain a PC and put it to sleep", MakeSleep},
      {"wake", kOwning, "wake a sleeping PC", MakeWake},
      {"node forget", kOwning, "take a PC that is gone off the list", MakeNodeForget},
      {"login", kTrusting, "become a member of a cluster from this machine, with a token",
       MakeLogin},
      {"whoami", kTrusting, "say as whom the coordinator knows you", MakeWhoami},
      {"token create", kTrusting, "make a token that lets a PC or a person in", MakeTokenCreate},
      {"token list", kTrusting, "list the tokens", MakeTokenList},
      {"token revoke", kTrusting, "make a token void", MakeTokenRevoke},
      {"cert list", kTrusting, "list the members' certificates", MakeCertList},
      {"cert revoke", kTrusting, "shut a member out at once", MakeCertRevoke},
      {"cluster init", kTrusting, "make a new cluster's authority, on its coordinator's machine",
       MakeClusterInit},
      {"cluster rotate-ca", kTrusting, "replace the cluster's authority by a new one",
       MakeClusterRotate},
      {"backup", kTrusting, "write all that the coordinator knows into a file", MakeBackup},
      {"version", kOther, "print the version", MakeVersion},
      {"help", kOther, "explain a command", MakeHelp},
  };
  return *commands;
}

}  // namespace hpc::client
