#include "tests/sim/frame/options.h"

#include <array>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "tests/sim/frame/random.h"

namespace hpc::sim {
namespace {

struct RateInfo {
  const char* name;
  double chance;  // the chance that a seed has it at all
  double most;    // the most in a minute
};

// ---- accidents, then what people do
constexpr std::array<RateInfo, 22> kRates = {{
    {"cut", 0.5, 4},                // a PC's cable: nothing gets through, one way or both
    {"peer-cut", 0.4, 4},           // two PCs do not hear each other
    {"reset", 0.5, 6},              // a connection breaks, and both ends know
    {"blip", 0.5, 10},              // packets are late
    {"worker-crash", 0.5, 4},       // kill -9
    {"worker-freeze", 0.3, 2},      // SIGSTOP, a machine that swaps
    {"worker-upgrade", 0.3, 3},     // an orderly restart
    {"supervisor-crash", 0.3, 2},   // kill -9
    {"power-loss", 0.4, 2},         // somebody pulls the plug; the PC is back after a while
    {"suspend", 0.3, 2},            // somebody closes the lid
    {"coordinator-crash", 0.5, 4},  // kill -9 in the middle of whatever it does
    {"coordinator-freeze", 0.2, 1},
    {"disk-full", 0.2, 1},
    {"submit", 1, 20},
    {"cancel", 0.6, 4},
    {"reclaim", 0.6, 3},
    {"lend", 0.6, 4},
    {"reclaim-here", 0.6, 3},  // on the PC itself, where it is lent again, too
    {"power", 0.4, 3},         // hpcctl sleep, hpcctl wake
    // These stand last so that seeds draw what they drew before for all others.
    {"supervisor-freeze", 0.3, 10},
    {"shutdown", 0.3, 1},  // a PC is turned off: its processes are told to end, in any order
    {"hold", 0.3, 4},      // hpcctl hold, hpcctl release
}};

const RateInfo* FindRate(const std::string& name) {
  for (const RateInfo& rate : kRates) {
    if (name == rate.name) return &rate;
  }
  return nullptr;
}

int DrawNodes(Random* random) {
  const int kind = random->Below(100);
  if (kind < 80) return 3 + random->Below(3);
  if (kind < 97) return 6 + random->Below(7);
  return 13 + random->Below(52);
}

}  // namespace

double Options::Rate(const std::string& name) const {
  const auto it = per_minute.find(name);
  return it == per_minute.end() ? 0 : it->second;
}

Options DrawOptions(uint64_t seed) {
  Random random(seed * 2 + 1);
  Options o;
  o.seed = seed;
  o.nodes = DrawNodes(&random);
  o.gpus = random.Below(3);
  o.length = o.nodes > 12 ? absl::Seconds(40) : absl::Seconds(60 + random.Below(120));
  for (const RateInfo& rate : kRates) {
    const bool has = random.Chance(rate.chance);
    const double often = rate.most * (0.1 + 0.9 * random.Unit());
    if (has) o.per_minute[rate.name] = often;
  }
  coordinator::ClusterOptions& c = o.cluster;
  c.stop_after_disconnect = absl::Seconds(30 + random.Below(60));
  c.reconnect_grace = random.Chance(0.5) ? absl::Seconds(3) : absl::Milliseconds(100);
  c.wake_timeout = absl::Seconds(40);
  c.wake_retry = absl::Minutes(1);
  c.sleep_timeout = absl::Seconds(20);
  c.grow_steady = absl::Seconds(5 + random.Below(20));
  return o;
}

absl::Status SetOption(const std::string& name, const std::string& value, Options* o) {
  double number = 0;
  const bool is_number = absl::SimpleAtod(value, &number) && number >= 0;
  absl::Duration duration;
  if (name == "bug") {
    const std::optional<Bug> bug = BugNamed(value);
    if (!bug) return absl::InvalidArgumentError("no planted bug " + value);
    o->bug = *bug;
  } else if (name == "nodes" && is_number && number >= 1 && number <= 64) {
    o->nodes = static_cast<int>(number);
  } else if (name == "gpus" && is_number) {
    o->gpus = static_cast<int>(number);
  } else if (name == "length" && absl::ParseDuration(value, &duration)) {
    o->length = duration;
  } else if (name == "stop-after-disconnect" && absl::ParseDuration(value, &duration)) {
    o->cluster.stop_after_disconnect = duration;
  } else if (name == "reconnect-grace" && absl::ParseDuration(value, &duration)) {
    o->cluster.reconnect_grace = duration;
  } else if (FindRate(name) != nullptr && is_number) {
    o->per_minute[name] = number;
  } else {
    const std::string rates = absl::StrJoin(
        kRates, ", ", [](std::string* out, const RateInfo& r) { out->append(r.name); });
    return absl::InvalidArgumentError(absl::StrCat(
        name, " ", value, ": there are seed, bug, nodes (1 to 64), gpus, length, ",
        "stop-after-disconnect and reconnect-grace (durations), and rates a minute of ", rates));
  }
  return absl::OkStatus();
}

absl::StatusOr<Options> ParseScenario(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> settings;
  uint64_t seed = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::pair<std::string, std::string> pair = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (pair.first != "seed") {
      settings.push_back(pair);
    } else if (!absl::SimpleAtoi(pair.second, &seed)) {
      return absl::InvalidArgumentError("seed " + pair.second + ": not a number");
    }
  }
  if (seed == 0) return absl::InvalidArgumentError("a scenario needs a line \"seed NUMBER\"");
  Options options = DrawOptions(seed);
  for (const auto& [name, value] : settings) {
    HPC_RETURN_IF_ERROR(SetOption(name, value, &options));
  }
  return options;
}

std::string ScenarioText(const Options& o) {
  std::string text = absl::StrCat("seed ", o.seed, "\nnodes ", o.nodes, "\ngpus ", o.gpus,
                                  "\nlength ", absl::FormatDuration(o.length));
  absl::StrAppend(&text, "\nstop-after-disconnect ",
                  absl::FormatDuration(o.cluster.stop_after_disconnect), "\nreconnect-grace ",
                  absl::FormatDuration(o.cluster.reconnect_grace), "\n");
  for (const RateInfo& rate : kRates) {
    absl::StrAppend(&text, rate.name, " ", o.Rate(rate.name), "\n");
  }
  return text;
}

}  // namespace hpc::sim
