#include "worker/os/python/python_probe.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "common/status_macros.h"
#include "worker/os/python/python_facts.h"
#include "worker/os/python/python_interpreter.h"
#include "worker/os/run_command.h"

namespace hpc::worker {
namespace {

// What a file looked like. Equal stamps mean that it has not changed.
struct Stamp {
  std::string path;
  int64_t size = -1;  // -1: the file does not exist
  int64_t mtime_ns = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp StampOf(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return {.path = path};
  return {.path = path,
          .size = info.st_size,
          .mtime_ns = info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec};
}

// The variables that decide where an interpreter looks for packages, or which interpreter a shim
// starts.
std::string RelevantEnvironment(const std::vector<std::string>& env) {
  std::vector<absl::string_view> relevant;
  for (absl::string_view entry : env) {
    for (absl::string_view prefix : {"PYTHON", "PYENV_", "VIRTUAL_ENV=", "HOME=", "PATH="}) {
      if (absl::StartsWith(entry, prefix)) relevant.push_back(entry);
    }
  }
  std::sort(relevant.begin(), relevant.end());
  return absl::StrJoin(relevant, "\n");
}

class CachingPythonProbe : public PythonProbe {
 public:
  explicit CachingPythonProbe(absl::Duration limit) : limit_(limit) {}

  absl::StatusOr<PythonFacts> Probe(const std::string& program, const std::vector<std::string>& env,
                                    const std::vector<std::string>& launcher) override {
    const std::string interpreter = FindPythonInterpreter(program, env);
    if (interpreter.empty()) return PythonFacts{};
    const std::string key = absl::StrCat(interpreter, "\n", RelevantEnvironment(env), "\n",
                                         absl::StrJoin(launcher, "\n"));
    if (auto known = Look(key)) return *std::move(known);
    HPC_ASSIGN_OR_RETURN(PythonAnswer answer, Ask(interpreter, env, launcher));
    answer.watched.push_back(interpreter);
    Entry entry = {.facts = answer.facts};
    for (const std::string& path : answer.watched) entry.stamps.push_back(StampOf(path));
    absl::MutexLock lock(&mutex_);
    entries_[key] = std::move(entry);
    return std::move(answer.facts);
  }

 private:
  struct Entry {
    PythonFacts facts;
    std::vector<Stamp> stamps;
  };

  std::optional<PythonFacts> Look(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    auto it = entries_.find(key);
    if (it == entries_.end()) return std::nullopt;
    const Entry& entry = it->second;
    const bool fresh = std::all_of(entry.stamps.begin(), entry.stamps.end(),
                                   [](const Stamp& s) { return StampOf(s.path) == s; });
    if (fresh) return entry.facts;
    entries_.erase(it);
    return std::nullopt;
  }

  absl::StatusOr<PythonAnswer> Ask(const std::string& interpreter,
                                   const std::vector<std::string>& env,
                                   const std::vector<std::string>& launcher) const {
    Command command{.program = interpreter,
                    .argv = {interpreter, "-c", kPythonFactsScript},
                    .env = env,
                    .limit = limit_};
    if (!launcher.empty()) {
      command.program = launcher[0];
      command.argv.insert(command.argv.begin(), interpreter);
      command.argv.insert(command.argv.begin(), launcher.begin(), launcher.end());
    }
    HPC_ASSIGN_OR_RETURN(CommandResult result, RunCommand(command));
    if (!result.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(interpreter, " cannot say what it has installed: ", result.HowItEnded(),
                       ", \"", result.LastWords(), "\""));
    }
    return ParsePythonAnswer(result.output);
  }

  const absl::Duration limit_;
  absl::Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<PythonProbe> MakePythonProbe(absl::Duration limit) {
  return std::make_unique<CachingPythonProbe>(limit);
}

}  // namespace hpc::worker
