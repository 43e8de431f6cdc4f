#include "train/program/summary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/files.h"
#include "common/unique_fd.h"
#include "train/tool/standard_output.h"

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

// Follows links. Unset: there is nothing at `path` yet.
std::optional<struct stat> Look(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? std::optional(info) : std::nullopt;
}

// Returns where a link leads, so that the link is not replaced by a file.
std::string Target(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), &free);
  return real == nullptr ? path : real.get();
}

void Replace(const std::string& path, const std::string& text, const std::string& of) {
  const absl::Status written = WriteFileAtomically(path, text, 0644);
  if (!written.ok()) Fail(of, std::string(written.message()));
}

// Writes into a pipe, or a device.
void WriteInto(const std::string& path, const std::string& text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.ok()) Fail(path, strerror(errno));
  const ssize_t n = write(fd.get(), text.data(), text.size());
  if (n != static_cast<ssize_t>(text.size())) Fail(path, strerror(n < 0 ? errno : ENOSPC));
}

}  // namespace

void TrySummaryFile(const std::string& path) {
  if (path.empty()) return;
  const auto there = Look(path);
  if (there && S_ISDIR(there->st_mode)) Fail(path, "it is a folder: say a file in it");
  if (there && !S_ISREG(there->st_mode)) return;
  const std::string beside = Target(path) + ".try";
  Replace(beside, "", path);
  unlink(beside.c_str());
}

void TellSummary(const TrainSummary& summary, const std::string& task, int ranks,
                 const std::string& path) {
  const std::string json = JsonOf(task, ranks, summary);
  Print(json + "\n");
  if (path.empty()) return;
  const auto there = Look(path);
  if (there && !S_ISREG(there->st_mode)) return WriteInto(path, json + "\n");
  Replace(Target(path), json + "\n", path);
}

}  // namespace hpc::train
