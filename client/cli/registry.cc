#include "client/cli/command.h"
#include "client/cli/commands.h"

namespace hpc::client {
namespace {

constexpr char kRunning[] = "Running";
constexpr char kLooking[] = "Looking";
constexpr char kAsking[] = "One run in detail";
constexpr char kOwning[] = "PCs and their owners";
constexpr char kOther[] = "Other";

}  // namespace

const std::vector<CommandInfo>& AllCommands() {
  static const auto* commands = new std::vector<CommandInfo>{
      {"run", kRunning, "run a command on one or more nodes and stay with it", MakeRun},
      {"wait", kRunning, "wait until a run is over", MakeWait},
      {"cancel", kRunning, "end a run", MakeCancel},
      {"nodes", kLooking, "list the PCs and what they are doing", MakeNodes},
      {"runs", kLooking, "list the runs, newest first", MakeRuns},
      {"show", kAsking, "tell everything about a run", MakeShow},
      {"version", kOther, "print the version", MakeVersion},
      {"help", kOther, "explain a command", MakeHelp},
  };
  return *commands;
}

}  // namespace hpc::client
