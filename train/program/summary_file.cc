#include "train/program/summary_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"

namespace hpc::train {
namespace {

std::string JsonOf(const std::string& task, int ranks, const TrainSummary& summary) {
  auto number = [](double value) {
    return std::isfinite(value) ? absl::StrFormat("%.9g", value) : std::string("null");
  };
  std::string json =
      absl::StrCat("{\"task\": \"", task, "\", \"ranks\": ", ranks,
                   ", \"regroupings\": ", summary.regroupings, ", \"epochs\": ", summary.epochs,
                   ", \"steps\": ", summary.steps, ", \"samples\": ", summary.samples,
                   ", \"skipped_steps\": ", summary.skipped, ", \"loss\": ", number(summary.loss));
  for (const auto& [name, value] : summary.test) {
    absl::StrAppend(&json, ", \"test_", name, "\": ", number(value));
  }
  absl::StrAppend(&json, ", \"seconds\": ", number(summary.seconds),
                  ", \"samples_per_second\": ", number(summary.samples_per_second),
                  ", \"data_wait_share\": ", number(summary.data_wait_share),
                  ", \"stopped\": ", summary.stopped ? "true" : "false", "}");
  return json;
}

[[noreturn]] void Fail(const std::string& path, const std::string& why) {
  throw std::runtime_error(absl::StrCat("--summary ", path, ": ", why));
}

void Write(const std::string& path, const std::string& text, const std::string& of) {
  const absl::Status written = WriteFileAtomically(path, text, 0644);
  if (!written.ok()) Fail(of, std::string(written.message()));
}

}  // namespace

void TrySummaryFile(const std::string& path) {
  if (path.empty()) return;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    Fail(path, "it is a folder: say a file in it");
  }
  const std::string beside = path + ".try";
  Write(beside, "", path);
  unlink(beside.c_str());
}

void TellSummary(const TrainSummary& summary, const std::string& task, int ranks,
                 const std::string& path) {
  const std::string json = JsonOf(task, ranks, summary);
  std::printf("%s\n", json.c_str());
  std::fflush(stdout);
  if (!path.empty()) Write(path, json + "\n", path);
}

}  // namespace hpc::train
