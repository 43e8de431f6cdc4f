// The words for the values of the wire's enums: the same in tables, JSON, options and messages.
// Pure.
#ifndef HPC_CLIENT_CLI_SHOW_WORDS_H_
#define HPC_CLIENT_CLI_SHOW_WORDS_H_

#include <string>
#include <vector>

#include "client/cli/forms/colours.h"
#include "client/run_state.h"
#include "hpc/v1/event.pb.h"
#include "hpc/v1/node.pb.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// Returns "queued", "running", ...; "unknown" for a state that only a newer coordinator knows.
std::string Word(v1::RunState state);
std::string Word(v1::DeviceKind kind);    // "gpu", "cpu-slot"
std::string Word(v1::Severity severity);  // "info", "warning", "error"

std::vector<std::string> RunStateWords();
// Returns RUN_STATE_UNSPECIFIED if the word names no state.
v1::RunState RunStateOf(const std::string& word);

Colour ColourOf(v1::RunState state);
Colour ColourOf(v1::Severity severity);
Colour ColourOfNode(const std::string& state);

// Returns "code 3", "SIGKILL", "SIGTERM after stop" or "running".
std::string ExitWords(const v1::Rank& rank);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_WORDS_H_
