// hpcctl logs: a run's output.
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/find_run.h"
#include "client/cli/follow/rank_output.h"
#include "client/cli/follow/run_teller.h"
#include "client/cli/follow/tail_lines.h"
#include "client/cli/input/usage_error.h"
#include "client/run_state.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr int64_t kTailBytes = 1 << 20;

class LogsCommand : public Command {
 public:
  void Declare(Options* options) override {
    constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
    options->Details("What was written to stderr comes on stderr.");
    options->RunArgument(&named_);
    options->Flag("-f,--follow", &follow_, "go on until the run is over");
    options->Integer("-n,--tail", "N", &tail_, 0, kMax,
                     "only the last N lines; with -f what follows too");
    options->Integer("--rank", "R", &rank_, 0, kMax, "only of this rank");
    options->Integer("--attempt", "A", &attempt_, 1, kMax, "only of this attempt");
    options->Flag("--stdout-only", &stdout_only_, "leave out stderr");
    options->Flag("--stderr-only", &stderr_only_, "leave out stdout");
    options->Flag("-t,--timestamps", &timestamps_,
                  "begin each line with the time at which it reached the coordinator");
    options->Flag("--label", &label_, "label lines with their rank even when there is only one");
    options->Flag("--no-label", &no_label_, "do not label lines with their rank");
    options->Example("hpcctl logs 12 -f");
    options->Example("hpcctl logs 12 --tail 20 -f");
    options->Example("hpcctl logs 12 --rank 3 --stderr-only");
  }

  absl::StatusOr<int> Run(Session* session) override {
    if (stdout_only_ && stderr_only_) {
      return UsageError("--stdout-only and --stderr-only together leave nothing; give one.");
    }
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(run_, FindRun(client, named_));
    RankOutput output(session, run_, LabellingAsked());
    if (timestamps_) output.ShowTimes();
    if (tail_) HPC_RETURN_IF_ERROR(Tail(client, &output));
    if (follow_) {
      const absl::Status heard = Follow(session, client, &output);
      if (!session->out().status().ok()) return kExitOk;
      HPC_RETURN_IF_ERROR(heard);
    }
    if (!tail_ && !follow_) HPC_RETURN_IF_ERROR(Read(client, &output));
    output.Finish();
    HPC_ASSIGN_OR_RETURN(const v1::RunDetail detail, client->GetRun(run_));
    if (!any_ && tail_ != 0) SayNone(session, detail);
    SayCut(session, detail);
    return kExitOk;
  }

 private:
  // Says why nothing was printed.
  void SayNone(Session* session, const v1::RunDetail& detail) const {
    const bool some = rank_ || attempt_ || stdout_only_ || stderr_only_;
    std::string text = absl::StrCat("run ", run_, " has no output", some ? " of that kind" : "");
    if (!AnyRankRan(detail)) absl::StrAppend(&text, ": none of its ranks has run");
    session->Notice(absl::StrCat(text, IsOver(detail.run().state()) ? "" : " yet"));
  }

  // Says how much output is in no log.
  void SayCut(Session* session, const v1::RunDetail& detail) const {
    int64_t cut = 0;
    for (const v1::LogStream& stream : detail.log_streams()) {
      if (WantedStream(stream)) cut += stream.cut_bytes();
    }
    if (cut == 0) return;
    session->Notice(
        absl::StrCat(HumanBytes(cut),
                     " of its output could not be kept (a full disk on the node, or the "
                     "limit of a run's output): 'hpcctl show ",
                     run_, "' says of which ranks"));
  }

  Labelling LabellingAsked() const {
    if (label_) return Labelling::kAlways;
    if (rank_) return Labelling::kRaw;
    return no_label_ ? Labelling::kNever : Labelling::kAuto;
  }

  bool Wanted(const v1::LogPiece& piece) const {
    return !piece.missing().empty() || WantedStream(piece);
  }

  template <typename Stream>
  bool WantedStream(const Stream& stream) const {
    return (!rank_ || stream.rank() == *rank_) && (!attempt_ || stream.attempt() == *attempt_) &&
           !(stream.is_stderr() ? stdout_only_ : stderr_only_);
  }

  void Write(const v1::LogPiece& piece, RankOutput* output) {
    if (!Wanted(piece)) return;
    any_ = true;
    output->Write(piece);
  }

  absl::Status Follow(Session* session, Client* client, RankOutput* output) {
    v1::FollowRequest request;
    request.set_run(run_);
    request.set_with_output(true);
    request.set_log_position(position_);
    RunTeller teller(session);
    const absl::Status heard = client->Follow(request, [&](const v1::FollowResponse& response) {
      if (response.has_output()) {
        Write(response.output(), output);
      } else {
        teller.Tell(response.state());
      }
      session->LeaveIfUnwritten();
      return absl::OkStatus();
    });
    session->progress().Clear();
    return heard;
  }

  v1::ReadLogRequest Request() const {
    v1::ReadLogRequest request;
    request.set_run(run_);
    if (rank_) request.set_rank(*rank_);
    if (attempt_) request.set_attempt(*attempt_);
    return request;
  }

  absl::Status Read(Client* client, RankOutput* output) {
    return client->ReadLog(Request(), [&](const v1::LogPiece& piece) { Write(piece, output); });
  }

  // Prints the last lines. Reads the end of the log, where a few bytes mostly hold as many lines as
  // are wanted. If they do not, reads the log from its beginning.
  absl::Status Tail(Client* client, RankOutput* output) {
    for (const int64_t last_bytes : {kTailBytes, int64_t{0}}) {
      v1::ReadLogRequest request = Request();
      request.set_last_bytes(last_bytes);
      TailLines tail(static_cast<size_t>(*tail_));
      HPC_RETURN_IF_ERROR(client->ReadLog(request, [&](const v1::LogPiece& piece) {
        position_ = piece.next_position();
        if (Wanted(piece)) tail.Add(piece);
      }));
      if (last_bytes != 0 && !tail.complete()) continue;
      for (const v1::LogPiece& line : tail.Finish()) Write(line, output);
      break;
    }
    return absl::OkStatus();
  }

  std::string named_;
  int64_t run_ = 0;
  bool follow_ = false, stdout_only_ = false, stderr_only_ = false, label_ = false,
       no_label_ = false, timestamps_ = false;
  std::optional<int32_t> rank_, attempt_, tail_;
  int64_t position_ = 0;  // in the log, after what was read
  bool any_ = false;      // something was printed
};

}  // namespace

std::unique_ptr<Command> MakeLogs() { return std::make_unique<LogsCommand>(); }

}  // namespace hpc::client
