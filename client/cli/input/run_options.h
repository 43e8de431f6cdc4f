// The wishes of a user about a run. Each is an option of `hpcctl run` and a field of a line of
// `hpcctl submit`, and the ordinary ones are lines of `hpcctl show`. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_RUN_OPTIONS_H_
#define HPC_CLIENT_CLI_INPUT_RUN_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/input/options.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// What was typed.
struct RunOptions {
  // What is understood without the caller. What was not typed is not set: its default is the
  // coordinator's. The command and the environment are never set.
  v1::RunSpec spec;
  std::vector<std::string> command;
  std::vector<std::string> env;         // "KEY=VALUE", or "KEY" to copy the caller's
  std::vector<std::string> env_secret;  // "KEY": copies the caller's and does not store it
  bool env_all = false;
  std::string after;  // the run of --after, by name; "": by number, or none
  // The fields of what was typed. What is typed may have the value that it has anyway.
  std::set<std::string> typed;
};

// How a value is typed, and what it is in JSON.
enum class Form {
  kText,
  kWord,       // one of a few
  kMaybeWord,  // the same; the first one if it is given without a value
  kNumber,
  kSpan,     // "2h"; in JSON a number of seconds, too
  kNodes,    // "4" or "2:4"; in JSON a number, too
  kFlag,     // no value; in JSON true or false
  kTexts,    // given several times; in JSON an array
  kNumbers,  // the same
  kPairs,    // given several times, "key=value"; in JSON an object
  kList,     // "a,b"; in JSON an array
};

// One field of the message: a word, a number or a time in milliseconds.
struct SpecField {
  std::function<std::optional<int64_t>(const v1::RunSpec&)> get;  // nullopt: nothing is said
  std::function<void(int64_t, v1::RunSpec*)> set;
  std::vector<int64_t> values = {};  // of the words, in their order
};

// Takes one value. It returns a usage error that names `option`, which is as it was typed.
using RunSetter =
    std::function<absl::Status(absl::string_view option, absl::string_view value, RunOptions*)>;

struct RunOption {
  std::string names;    // "-N,--nodes"; "" for what is not typed as an option
  std::string metavar;  // the words, "checkpoint|never|now"; else what is typed, "2h"
  Form form;
  std::string help;
  // `hpcctl show` has an ordinary option, for people if there is a title. The others it knows one
  // by one.
  std::string title = "";
  SpecField to = {};
  int64_t min = 0, max = 0;  // of a number
  RunSetter set = nullptr;   // of an option that is not typed in an ordinary way
  std::string field = "";    // of a line of `hpcctl submit`: "time_limit"
  std::string group = "";    // the title above it in the help
};

// Takes one value, as `set` does.
absl::Status SetOption(const RunOption& option, absl::string_view name, absl::string_view value,
                       RunOptions* run);

// Returns "" for a value that has no word, as one of a newer coordinator.
std::string WordFor(const RunOption& option, int64_t value);

// Returns all of them, in the order in which they are shown.
const std::vector<RunOption>& AllRunOptions();

// Declares all of them as options of a command line.
void DeclareRunOptions(Options* options, RunOptions* run);
// Declares one, which says something else about itself in this command.
void DeclareRunOption(absl::string_view field, absl::string_view help, Options* options,
                      RunOptions* run);

// Returns the value of -N: "2" or "2:4".
std::string NodeRange(int min_nodes, int max_nodes);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_RUN_OPTIONS_H_
