#include "train/run_hooks.h"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace hpc::train {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal's handler may take no lock");

void OnStopSignal(int) { stop_requested = true; }

// Writes a number as Python's json does, which hpcctl reads.
std::string JsonNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string JsonString(const std::string& text) {
  std::string json = "\"";
  for (unsigned char c : text) {
    if (c < 0x20) {
      absl::StrAppend(&json, "\\u00", absl::Hex(c, absl::kZeroPad2));
    } else {
      if (c == '"' || c == '\\') json += '\\';
      json += static_cast<char>(c);
    }
  }
  return json + "\"";
}

}  // namespace

RunHooks ReadRunHooks(const GetVariable& get) {
  auto value = [&](const char* name) -> std::string {
    const char* text = get(name);
    return text == nullptr ? "" : text;
  };
  return {.metrics_file = value("HPC_METRICS_FILE"),
          .checkpoint_dir = value("HPC_CHECKPOINT_DIR"),
          .params_file = value("HPC_PARAMS_FILE"),
          .run = value("HPC_RUN_ID")};
}

RunHooks ReadRunHooks() {
  return ReadRunHooks([](const char* name) -> const char* { return std::getenv(name); });
}

std::string MetricLine(double time, std::optional<int64_t> step,
                       const std::vector<std::pair<std::string, double>>& values) {
  std::string line = absl::StrCat("{\"time\": ", JsonNumber(time));
  for (const auto& [key, value] : values) {
    if (key == "time" || key == "step") continue;
    absl::StrAppend(&line, ", ", JsonString(key), ": ", JsonNumber(value));
  }
  if (step) absl::StrAppend(&line, ", \"step\": ", *step);
  return line + "}\n";
}

Metrics::Metrics(const std::string& path) : path_(path) {
  if (path.empty()) return;
  // Without O_NONBLOCK, opening a pipe that nobody reads would block.
  file_.Reset(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file_.ok()) Warn();
}

void Metrics::Warn() const {
  warning_ = absl::StrCat("metrics are not written into ", path_,
                          " (HPC_METRICS_FILE): ", std::strerror(errno));
}

void Metrics::Log(std::optional<int64_t> step,
                  const std::vector<std::pair<std::string, double>>& values) const {
  if (!file_.ok()) return;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  const std::string line = MetricLine(now.count(), step, values);
  // One write to a file that is opened for appending is never split by another's.
  if (write(file_.get(), line.data(), line.size()) < 0) Warn();
}

void Metrics::CheckpointSaved(int64_t step) const { Log(step, {{"checkpoint_saved", 1}}); }

StopSignals::StopSignals() {
  stop_requested = false;
  struct sigaction action {};
  action.sa_handler = OnStopSignal;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGTERM, &action, &before_term_);
  sigaction(SIGINT, &action, &before_int_);
}

StopSignals::~StopSignals() {
  sigaction(SIGTERM, &before_term_, nullptr);
  sigaction(SIGINT, &before_int_, nullptr);
}

bool StopSignals::requested() const { return stop_requested; }

}  // namespace hpc::train
