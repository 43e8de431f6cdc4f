// hpcctl submit: many runs from one stream.
#include <sys/stat.h>

#include <cstdio>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/forms/json_writer.h"
#include "client/cli/input/caller.h"
#include "client/cli/input/code_state.h"
#include "client/cli/input/run_spec.h"
#include "client/cli/input/submit_line.h"
#include "client/cli/input/usage_error.h"
#include "common/files/files.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

// Prints one answer for each line, in the order of the lines. A line that was refused here waits
// behind earlier lines that the coordinator has not answered yet.
class Answers {
 public:
  explicit Answers(Output* out) : out_(out) {}

  void Expect(int64_t line) {
    absl::MutexLock lock(&mutex_);
    pending_.push_back({line, ""});
  }

  void RefuseHere(int64_t line, absl::string_view error) {
    absl::MutexLock lock(&mutex_);
    exit_code_ = kExitUsage;
    pending_.push_back({line, ErrorLine(line, error)});
    PrintReady();
  }

  void Answer(const v1::SubmitManyResponse& response) {
    absl::MutexLock lock(&mutex_);
    if (response.run() != 0) {
      pending_.front().answer = absl::StrCat("{\"id\":", response.run(), "}\n");
    } else {
      if (exit_code_ == kExitOk) exit_code_ = kExitRefused;
      pending_.front().answer = ErrorLine(pending_.front().line, response.error());
    }
    PrintReady();
  }

  int exit_code() const {
    absl::MutexLock lock(&mutex_);
    return exit_code_;
  }

 private:
  struct Pending {
    int64_t line;
    std::string answer;  // "" until it is known
  };

  static std::string ErrorLine(int64_t line, absl::string_view error) {
    JsonWriter json;
    json.BeginObject();
    json.Key("error");
    json.String(error);
    json.Key("line");
    json.Integer(line);
    json.EndObject();
    return json.Take() + "\n";
  }

  void PrintReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (; !pending_.empty() && !pending_.front().answer.empty(); pending_.pop_front()) {
      out_->Write(pending_.front().answer);
    }
    out_->Flush();
  }

  mutable absl::Mutex mutex_;
  Output* out_;
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);
  int exit_code_ ABSL_GUARDED_BY(mutex_) = kExitOk;
};

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

// The lines of the input, for the thread that reads them. It may outlive the command.
class Lines {
 public:
  static absl::StatusOr<std::shared_ptr<Lines>> Open(const std::string& name) {
    std::FILE* file = name == "-" ? stdin : std::fopen(name.c_str(), "re");
    if (file == nullptr) {
      return usage::BadValue("FILE",
                             ErrnoStatus(errno, absl::StrCat("cannot open ", name)).message());
    }
    auto lines = std::make_shared<Lines>(file);
    struct stat info;
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
      return usage::BadValue("FILE", absl::StrCat(name, " is a folder, not a file of JSON lines"));
    }
    const int first = name == "-" ? EOF : std::getc(file);
    if (first != EOF) std::ungetc(first, file);
    if (first == '#' || absl::EndsWith(name, ".sh") || absl::EndsWith(name, ".py")) {
      return UsageError(absl::StrCat(
          name, " is a script, and this reads JSON lines. 'hpcctl run --detach -- ",
          absl::StartsWith(name, "/") ? "" : "./", name,
          "' queues a script; what #SBATCH lines in it say are options of 'hpcctl run'."));
    }
    return lines;
  }
  explicit Lines(std::FILE* file) : file_(file) {}

  // Returns the next line, or nullopt at the end. Empty lines are counted, but skipped.
  // InvalidArgument: the line is longer than any run can be. The next call then goes on after it. A
  // line that is so long that it may have no end is the last one.
  std::optional<absl::StatusOr<std::string>> Next() {
    while (!endless_) {
      std::string line;
      size_t length = 0;
      int c = 0;
      while ((c = getc_unlocked(file_.get())) != EOF && c != '\n') {
        if (++length <= kMaxLine) line.push_back(static_cast<char>(c));
        if (length == kEndless) break;
      }
      endless_ = length == kEndless;
      if (c == EOF && length == 0) return std::nullopt;
      ++number_;
      if (length > kMaxLine) {
        return absl::InvalidArgumentError(absl::StrCat(
            "line ", number_, " has ", length, " bytes", endless_ ? " and more" : "", ", of which ",
            kMaxLine, " are allowed: put what is long into a file that the program reads",
            endless_ ? "; nothing behind it is read" : ""));
      }
      absl::StripAsciiWhitespace(&line);
      if (!line.empty()) return line;
    }
    return std::nullopt;
  }
  int64_t number() const { return number_; }

 private:
  // A run has at most 10 MB of arguments, and JSON may need several bytes for one byte.
  static constexpr size_t kMaxLine = 32 << 20;
  static constexpr size_t kEndless = 256 << 20;

  std::unique_ptr<std::FILE, CloseFile> file_;
  int64_t number_ = 0;
  bool endless_ = false;
};

class SubmitCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(absl::StrCat(
        "Each line is a JSON object. For each one line comes back, in order, as soon as the run "
        "is\n"
        "on disk: {\"id\": 12}, or {\"error\": \"...\", \"line\": 3}. A bad line does not stop the "
        "others;\nthe exit code is then 2, or 121 if it was the coordinator that refused.\n\n"
        "Fields, as the options of 'hpcctl run': ",
        absl::StrJoin(SubmitFields(), ", "), "."));
    options->Argument("FILE", &file_, "file of JSON lines, or - for the standard input");
    options->Example("hpcctl submit runs.jsonl");
    options->Example(
        "echo '{\"command\": [\"python\", \"train.py\"], \"nodes\": 2}' | hpcctl submit -");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(const std::shared_ptr<Lines> lines, Lines::Open(file_));
    auto caller = std::make_shared<const Caller>(ThisCaller());
    CodeStateReader code_reader(caller->workdir);
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    v1::CodeState code = code_reader.Finish(kCodeStateTime);
    // The difference to the commit is left out, since there may be thousands of runs.
    code.set_diff_cut(code.dirty());
    code.clear_diff();
    auto answers = std::make_shared<Answers>(&session->out());
    const auto next = [lines, caller, code, answers]() -> std::optional<v1::RunSpec> {
      while (const auto line = lines->Next()) {
        absl::StatusOr<v1::RunSpec> spec = SpecOf(*line, *caller);
        if (spec.ok()) {
          *spec->mutable_code() = code;
          answers->Expect(lines->number());
          return *std::move(spec);
        }
        answers->RefuseHere(lines->number(), absl::string_view(spec.status().message()));
      }
      return std::nullopt;
    };
    HPC_RETURN_IF_ERROR(client->SubmitMany(
        next, [&](const v1::SubmitManyResponse& response) { answers->Answer(response); }));
    return answers->exit_code();
  }

 private:
  static absl::StatusOr<v1::RunSpec> SpecOf(const absl::StatusOr<std::string>& line,
                                            const Caller& caller) {
    HPC_RETURN_IF_ERROR(line.status());
    HPC_ASSIGN_OR_RETURN(RunOptions run, ParseSubmitLine(*line));
    return BuildSpec(std::move(run), caller);
  }

  std::string file_;
};

}  // namespace

std::unique_ptr<Command> MakeSubmit() { return std::make_unique<SubmitCommand>(); }

}  // namespace hpc::client
