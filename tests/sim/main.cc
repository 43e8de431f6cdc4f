// hpc-sim runs the real cores of coordinator and workers in a simulated world: docs/TESTING.md.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/sim/arguments.h"
#include "tests/sim/world.h"

namespace hpc::sim {
namespace {

Options OptionsOf(const Arguments& args, uint64_t seed, Bug bug) {
  Options options = args.scenario ? *args.scenario : DrawOptions(seed);
  for (const auto& [name, value] : args.settings) SetOption(name, value, &options).IgnoreError();
  if (bug != Bug::kNone) options.bug = bug;
  return options;
}

// The smallest seed that fails.
std::optional<uint64_t> FindFailure(const Arguments& args, Bug bug) {
  std::atomic<uint64_t> next = args.first, failed = UINT64_MAX;
  const auto work = [&] {
    for (uint64_t seed = next++; seed <= args.last && seed < failed; seed = next++) {
      if (World(OptionsOf(args, seed, bug), /*traced=*/false).Run().ok()) continue;
      uint64_t least = failed;
      while (seed < least && !failed.compare_exchange_weak(least, seed)) {
      }
    }
  };
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < (args.jobs > 0 ? args.jobs : cores); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failed == UINT64_MAX) return std::nullopt;
  return failed.load();
}

int ListBugs() {
  for (const BugInfo& info : PlantedBugs()) std::cout << info.name << ": " << info.what << "\n";
  return 0;
}

int FindEveryBug(const Arguments& args) {
  int missed = 0;
  for (const BugInfo& info : PlantedBugs()) {
    const std::optional<uint64_t> seed = FindFailure(args, info.bug);
    if (!seed) {
      ++missed;
      std::cout << info.name << ": NOT FOUND (" << info.what << ")\n";
      continue;
    }
    const Result result = World(OptionsOf(args, *seed, info.bug), /*traced=*/false).Run();
    std::cout << info.name << ": seed " << *seed << ", " << result.invariant << ": " << result.text
              << "\n";
  }
  return missed == 0 ? 0 : 1;
}

void Show(const Result& result, const Options& options) {
  for (const std::string& line : result.trace) std::cout << line << "\n";
  if (result.ok()) return;
  std::cout << "\nseed " << options.seed << " breaks " << result.invariant << ": " << result.text
            << "\n\nas a file for tests/sim/scenarios:\n"
            << ScenarioText(options);
}

int Simulate(const Arguments& args) {
  uint64_t seed = args.first;
  if (args.last > args.first) {
    const std::optional<uint64_t> failed = FindFailure(args, Bug::kNone);
    if (!failed) {
      std::cout << args.last - args.first + 1 << " seeds: every promise held\n";
      return 0;
    }
    seed = *failed;
  }
  const Options options = OptionsOf(args, seed, Bug::kNone);
  const Result result = World(options, /*traced=*/true).Run();
  if (args.trace || !result.ok()) Show(result, options);
  if (result.ok()) std::cout << "seed " << seed << ": every promise held\n";
  return result.ok() ? 0 : 1;
}

}  // namespace
}  // namespace hpc::sim

int main(int argc, char** argv) {
  using namespace hpc::sim;
  const auto args = ParseArguments(std::vector<std::string>(argv + 1, argv + argc));
  if (!args.ok()) {
    std::cerr << "hpc-sim: " << args.status().message() << "\n" << kUsage;
    return 2;
  }
  if (args->list_bugs) return ListBugs();
  return args->every_bug ? FindEveryBug(*args) : Simulate(*args);
}
