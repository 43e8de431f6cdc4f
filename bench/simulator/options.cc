#include "bench/simulator/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::simulator {
namespace {

constexpr char kDescription[] =
    "Simulates the nodes of a cluster: each speaks the worker's protocol, decides as a worker\n"
    "does, and has ranks that write a line, run for a while and exit with 0. It says on stderr\n"
    "whenever all of its nodes are connected, with the time on CLOCK_MONOTONIC.\n";

struct Texts {
  std::vector<std::string> coordinators;
  std::string run_time = "1s", within = "10s";
};

absl::StatusOr<absl::Duration> Span(const char* option, const std::string& text) {
  const absl::StatusOr<absl::Duration> span = ParseDuration(text);
  if (span.ok()) return span;
  return absl::InvalidArgumentError(absl::StrCat(option, ": ", span.status().message()));
}

absl::Status Check(const Options& options) {
  if (options.insecure) {
    const auto& all = options.coordinators;
    const bool local = std::all_of(all.begin(), all.end(),
                                   [](const Endpoint& endpoint) { return endpoint.IsLocal(); });
    if (!all.empty() && local) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--insecure needs --coordinator with a loopback address: that is where a coordinator "
        "without certificates listens");
  }
  if (options.state_dir.empty()) {
    return absl::InvalidArgumentError(
        "--state-dir is missing: nodes need a folder for their identities, or --insecure");
  }
  if (options.connections == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--connections is for --insecure: with certificates a connection speaks for one node");
}

}  // namespace

absl::StatusOr<Options> ParseOptions(int argc, const char* const* argv) {
  CLI::App app(kDescription, "hpc-node-simulator");
  Options options;
  Texts texts;
  app.add_option("--nodes", options.nodes, "How many; they are called pc1, pc2 ...")
      ->check(CLI::Range(1, 50'000))
      ->capture_default_str();
  app.add_option("--coordinator", texts.coordinators,
                 "ADDR:PORT (default: where the nodes have joined); of several, all of the same "
                 "coordinator, the nodes take turns, since to one there are no more connections "
                 "than ports");
  app.add_flag("--insecure", options.insecure, "Plain text, at a loopback address");
  app.add_option("--connections", options.connections,
                 "With --insecure: connections that the nodes share (0: each has its own)")
      ->check(CLI::Range(0, 50'000))
      ->capture_default_str();
  app.add_option("--state-dir", options.state_dir,
                 "Where keys and certificates of the nodes are kept, each in a folder of its name");
  app.add_option("--token", options.tokens,
                 "For nodes that have not joined yet; several are given to as many nodes each");
  app.add_option("--gpus", options.gpus, "Of each node; 0: it has a CPU slot")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app.add_option("--run-time", texts.run_time, "How long ranks run")->capture_default_str();
  app.add_option("--within", texts.within, "The nodes are switched on, evenly, within this time")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "That the nodes are shared out to")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return absl::CancelledError(app.help());
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  for (const std::string& text : texts.coordinators) {
    HPC_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(text));
    options.coordinators.push_back(endpoint);
  }
  HPC_ASSIGN_OR_RETURN(options.run_time, Span("--run-time", texts.run_time));
  HPC_ASSIGN_OR_RETURN(options.within, Span("--within", texts.within));
  HPC_RETURN_IF_ERROR(Check(options));
  return options;
}

}  // namespace hpc::simulator
