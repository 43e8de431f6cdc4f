// hpcctl metrics: what a run has measured.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/find_run.h"
#include "client/cli/forms/listing.h"
#include "client/cli/forms/plot.h"
#include "client/cli/forms/times.h"
#include "client/cli/input/usage_error.h"
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
    options->Flag("--last", &last_, "of each metric the last value, the smallest and the largest");
    options->Flag("--plot", &plot_, "a curve of each metric over its steps");
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
    std::map<std::string, std::vector<PlotPoint>> curves;
    HPC_RETURN_IF_ERROR(client->ListMetrics(request, [&](const v1::ListMetricsResponse& response) {
      for (const v1::MetricPoint& point : response.points()) {
        curves[point.key()].push_back({static_cast<double>(point.step()), point.value()});
      }
    }));
    constexpr int kLabels = 14, kWidest = 100, kRows = 12, kPiped = 72;
    const int width = session->out().width() == 0 ? kPiped : session->out().width() - kLabels;
    for (const auto& [key, points] : curves) {
      const std::string curve = Plot(points, std::clamp(width, 10, kWidest), kRows);
      const auto gaps = std::count_if(points.begin(), points.end(),
                                      [](const PlotPoint& p) { return !std::isfinite(p.y); });
      const std::string words =
          gaps == 0 ? ""
                    : absl::StrCat(" (", gaps, " of ", points.size(), " points are no number)");
      session->out().Write(absl::StrCat(OneLine(key), words, "\n", curve));
    }
    if (curves.empty()) session->Notice(NothingMeasured());
    return kExitOk;
  }

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
  bool last_ = false, plot_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeMetrics() { return std::make_unique<MetricsCommand>(); }

}  // namespace hpc::client
