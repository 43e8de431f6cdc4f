// The factories of all commands, each in its own file of commands/.
#ifndef HPC_CLIENT_CLI_COMMANDS_H_
#define HPC_CLIENT_CLI_COMMANDS_H_

#include <memory>

#include "client/cli/command.h"

namespace hpc::client {

std::unique_ptr<Command> MakeRun();
std::unique_ptr<Command> MakeSubmit();
std::unique_ptr<Command> MakeWait();
std::unique_ptr<Command> MakeCancel();
std::unique_ptr<Command> MakeHold();
std::unique_ptr<Command> MakeRelease();
std::unique_ptr<Command> MakeChange();

std::unique_ptr<Command> MakeStatus();
std::unique_ptr<Command> MakeNodes();
std::unique_ptr<Command> MakeRuns();
std::unique_ptr<Command> MakeCheck();
std::unique_ptr<Command> MakeExperiments();

std::unique_ptr<Command> MakeShow();
std::unique_ptr<Command> MakeLogs();
std::unique_ptr<Command> MakeMetrics();
std::unique_ptr<Command> MakeWhy();
std::unique_ptr<Command> MakeEvents();

std::unique_ptr<Command> MakeReclaim();
std::unique_ptr<Command> MakeLend();
std::unique_ptr<Command> MakeSleep();
std::unique_ptr<Command> MakeWake();
std::unique_ptr<Command> MakeNodeForget();

std::unique_ptr<Command> MakeLogin();
std::unique_ptr<Command> MakeWhoami();
std::unique_ptr<Command> MakeTokenCreate();
std::unique_ptr<Command> MakeTokenList();
std::unique_ptr<Command> MakeTokenRevoke();
std::unique_ptr<Command> MakeCertList();
std::unique_ptr<Command> MakeCertRevoke();
std::unique_ptr<Command> MakeClusterInit();
std::unique_ptr<Command> MakeClusterRotate();
std::unique_ptr<Command> MakeBackup();

std::unique_ptr<Command> MakeVersion();
std::unique_ptr<Command> MakeHelp();

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_COMMANDS_H_
