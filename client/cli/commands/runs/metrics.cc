// hpcctl metrics: what a run has measured.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/find_run.h"
#include "client/cli/forms/listing.h"
#include "client/cli/forms/times.h"
#include "client/cli/input/usage_error.h"
#include "client/cli/show/metric_curves.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

class MetricsCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "Every point, in the order in which it was stored. In JSON, values that are no number are\n"
        "the texts \"NaN\", \"Infinity\" and \"-Infinity\".");
    options->RunArgument(&named_);
    options->Text("--key", "K", &key_, "only this metric");
    options->Integer("--rank", "R", &rank_, 0, std::numeric_limits<int32_t>::max(),
                     "only what this rank has measured");
    options->Flag("--last", &last_, "of each metric the last value, the smallest and the largest");
    options->Flag("--plot", &plot_, "a curve of each metric over its steps, of its lowest rank");
    options->Flag("--json", &json_, "print JSON");
    options->Example("hpcctl metrics 12 --key loss");
    options->Example("hpcctl metrics last --plot");
    options->Example("hpcctl metrics 12 --last");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(run_, FindRun(client, named_));
    if (plot_ && (last_ || json_)) {
      return UsageError("--plot draws curves; --last and --json print numbers: give one of them.");
    }
    if (last_ && rank_) {
      return UsageError("--last is of all ranks together; leave --rank out, or --last.");
    }
    if (last_) return Last(session, client);
    if (plot_) return Curves(session, client);
    v1::ListMetricsRequest request;
    request.set_run(run_);
    request.set_key(key_);
    Listing listing({{"key", "METRIC"},
                     {"step", "STEP"},
                     {"value", "VALUE"},
                     {"attempt", "ATTEMPT"},
                     {"rank", "RANK"},
                     {"at", "AT"}},
                    FormFor(session->out(), json_, 0));
    HPC_RETURN_IF_ERROR(client->ListMetrics(request, [&](const v1::ListMetricsResponse& response) {
      for (const v1::MetricPoint& point : response.points()) {
        if (!Wanted(point)) continue;
        listing.Text(point.key())
            .Integer(point.step())
            .Real(point.value())
            .Integer(point.attempt())
            .Integer(point.rank())
            .Both(LocalTime(point.at_us()), UtcTime(point.at_us()))
            .EndRow();
        session->Spill(&listing);
      }
    }));
    Print(session, &listing);
    return kExitOk;
  }

 private:
  absl::StatusOr<int> Curves(Session* session, Client* client) {
    v1::ListMetricsRequest request;
    request.set_run(run_);
    request.set_key(key_);
    std::vector<v1::MetricPoint> points;
    HPC_RETURN_IF_ERROR(client->ListMetrics(request, [&](const v1::ListMetricsResponse& response) {
      for (const v1::MetricPoint& point : response.points()) {
        if (Wanted(point)) points.push_back(point);
      }
    }));
    const auto curves = MetricCurves(points);
    constexpr int kLabels = 14, kWidest = 100, kRows = 12, kPiped = 72;
    const int width = session->out().width() == 0 ? kPiped : session->out().width() - kLabels;
    for (const auto& [key, curve] : curves) {
      session->out().Write(absl::StrCat(OneLine(key), Remarks(curve), "\n",
                                        Plot(curve.points, std::clamp(width, 10, kWidest), kRows)));
    }
    if (curves.empty()) session->Notice(NothingMeasured());
    return kExitOk;
  }

  static std::string Remarks(const MetricCurve& curve) {
    std::string words;
    if (!curve.other_ranks.empty()) {
      std::vector<std::string> others;
      for (const int32_t rank : curve.other_ranks) others.push_back(absl::StrCat(rank));
      absl::StrAppend(&words, " of rank ", curve.rank, "; --rank shows that of ",
                      JoinSome(std::move(others), 4));
    }
    const auto gaps = std::count_if(curve.points.begin(), curve.points.end(),
                                    [](const PlotPoint& p) { return !std::isfinite(p.y); });
    if (gaps > 0) {
      absl::StrAppend(&words, " (", gaps, " of ", curve.points.size(), " points are no number)");
    }
    return words;
  }

  bool Wanted(const v1::MetricPoint& point) const { return !rank_ || point.rank() == *rank_; }

  absl::StatusOr<int> Last(Session* session, Client* client) {
    HPC_ASSIGN_OR_RETURN(const v1::RunDetail detail, client->GetRun(run_));
    Listing listing({{"key", "METRIC"},
                     {"step", "STEP"},
                     {"value", "VALUE"},
                     {"points", "POINTS"},
                     {"min", "MIN"},
                     {"max", "MAX"}},
                    FormFor(session->out(), json_, 0));
    for (const v1::MetricSummary& metric : detail.metrics()) {
      if (!key_.empty() && metric.key() != key_) continue;
      listing.Text(metric.key())
          .Integer(metric.last_step())
          .Real(metric.last())
          .Integer(metric.points())
          .Real(metric.min())
          .Real(metric.max())
          .EndRow();
    }
    Print(session, &listing);
    return kExitOk;
  }

  void Print(Session* session, Listing* listing) const {
    session->Print(listing, NothingMeasured());
  }

  std::string NothingMeasured() const {
    if (rank_) {
      return absl::StrCat("rank ", *rank_, " of run ", run_, " has not measured ",
                          key_.empty() ? "anything" : absl::StrCat("'", key_, "'"));
    }
    if (key_.empty()) {
      return absl::StrCat("run ", run_, " has measured nothing. A program reports with ",
                          "hpc.log(step=..., loss=...) of hpc.py");
    }
    return absl::StrCat("run ", run_, " has not measured '", key_, "'; 'hpcctl show ", run_,
                        "' lists what it has");
  }

  std::string named_;
  int64_t run_ = 0;
  std::string key_;
  std::optional<int32_t> rank_;
  bool last_ = false, plot_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeMetrics() { return std::make_unique<MetricsCommand>(); }

}  // namespace hpc::client
