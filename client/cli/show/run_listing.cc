#include "client/cli/show/run_listing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/input/run_options.h"
#include "client/cli/show/run_tables.h"
#include "client/cli/show/words.h"
#include "client/run_state.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr size_t kMostMetrics = 8;  // columns, when no metric was asked for by name
constexpr int32_t kWidestParam = 30;

void WriteMetrics(const v1::Run& run, JsonWriter* json) {
  json->BeginObject();
  for (const v1::MetricSummary& metric : run.metrics()) {
    json->Key(metric.key());
    json->BeginObject();
    json->Key("last");
    json->Real(metric.last());
    json->Key("last_step");
    json->Integer(metric.last_step());
    json->Key("min");
    json->Real(metric.min());
    json->Key("max");
    json->Real(metric.max());
    json->Key("points");
    json->Integer(metric.points());
    json->EndObject();
  }
  json->EndObject();
}

void Append(const std::string& key, std::vector<std::string>* keys) {
  if (std::find(keys->begin(), keys->end(), key) == keys->end()) keys->push_back(key);
}

// Returns the keys of all runs, in the order in which they were given.
std::vector<std::string> ParamKeys(const std::vector<v1::Run>& runs) {
  std::vector<std::string> keys;
  for (const v1::Run& run : runs) {
    for (const v1::KeyValue& param : run.params()) Append(param.key(), &keys);
  }
  return keys;
}

std::vector<std::string> MetricKeys(const std::vector<v1::Run>& runs) {
  std::set<std::string> keys;
  for (const v1::Run& run : runs) {
    for (const v1::MetricSummary& metric : run.metrics()) keys.insert(metric.key());
  }
  return {keys.begin(), keys.end()};
}

// Shortens a value for the cell of a table. JSON has all of it.
std::string Short(const std::string& text) {
  if (DisplayWidth(text) <= kWidestParam) return text;
  return absl::StrCat(FirstColumns(text, kWidestParam - 1), "…");
}

std::string ParamOf(const v1::Run& run, const std::string& key) {
  for (const v1::KeyValue& param : run.params()) {
    if (param.key() == key) return Short(param.value());
  }
  return "";
}

const v1::MetricSummary* FindMetric(const v1::Run& run, absl::string_view key) {
  for (const v1::MetricSummary& metric : run.metrics()) {
    if (metric.key() == key) return &metric;
  }
  return nullptr;
}

// The last value of a metric, or for "loss:min" and "loss:max" the smallest or the largest.
std::optional<double> ValueOf(const v1::Run& run, absl::string_view key) {
  if (const auto* metric = FindMetric(run, key); metric != nullptr) return metric->last();
  const bool smallest = absl::ConsumeSuffix(&key, ":min");
  if (!smallest && !absl::ConsumeSuffix(&key, ":max")) return std::nullopt;
  const v1::MetricSummary* const metric = FindMetric(run, key);
  if (metric == nullptr) return std::nullopt;
  return smallest ? metric->min() : metric->max();
}

// What a run is sorted by: a number, or a text that is none.
struct SortValue {
  std::optional<double> number;
  std::string text;

  // NaN is no value to sort by.
  bool there() const { return number ? !std::isnan(*number) : !text.empty(); }
  bool operator<(const SortValue& other) const {
    if (number && other.number) return *number < *other.number;
    return number.has_value() != other.number.has_value() ? number.has_value() : text < other.text;
  }
};

SortValue ParamValueOf(const v1::Run& run, absl::string_view key) {
  for (const v1::KeyValue& param : run.params()) {
    if (param.key() != key) continue;
    double number = 0;
    if (absl::SimpleAtod(param.value(), &number)) return {number};
    return {std::nullopt, param.value()};
  }
  return {};
}

std::string MetricOf(const v1::Run& run, const std::string& key) {
  const std::optional<double> value = ValueOf(run, key);
  return value ? absl::StrCat(*value) : "";
}

}  // namespace

Listing RunListing(const ListingForm& form) {
  return Listing({{"id", "RUN"},
                  {"state", "STATE"},
                  {"name", "NAME"},
                  {"experiment", "EXPERIMENT"},
                  {"user", "USER"},
                  {"", "WANTS"},
                  {"min_nodes", ""},
                  {"max_nodes", ""},
                  {"nodes", "NODES"},
                  {"priority", ""},
                  {"submitted_at", "SUBMITTED"},
                  {"took_us", "TOOK"},
                  {"started_at", ""},
                  {"ended_at", ""},
                  {"attempts", ""},
                  {"failures", ""},
                  {"exit_code", ""},
                  {"queue_position", ""},
                  {"cancel_requested", ""},
                  {"on_hold", ""},
                  {"command", ""},
                  {"params", ""},
                  {"metrics", ""},
                  {"reason", "REASON"}},
                 form);
}

void AddRun(const v1::Run& run, Listing* listing) {
  listing->Integer(run.id())
      .Text(Word(run.state()), ColourOf(run.state()))
      .Text(run.name())
      .Text(run.experiment())
      .Text(run.user())
      .TableOnly(NodeRange(run.min_nodes(), run.max_nodes()))
      .Integer(run.min_nodes())
      .Integer(run.max_nodes())
      .Items(run.nodes())
      .Integer(run.priority())
      .Time(run.submitted_at_us())
      .Span(HasRunTime(run.state()) ? run.started_at_us() : 0, run.ended_at_us())
      .Time(run.started_at_us())
      .Time(run.ended_at_us())
      .Integer(run.attempts())
      .Integer(run.failures());
  if (IsOver(run.state())) {
    listing->Integer(run.exit_code());
  } else {
    listing->None();
  }
  listing->Integer(run.queue_position())
      .Bool(run.cancel_requested())
      .Text(run.on_hold())
      .Items(run.command())
      .Nested([&](JsonWriter* json) { WritePairs(run.params(), json); })
      .Nested([&](JsonWriter* json) { WriteMetrics(run, json); })
      .Text(run.reason())
      .EndRow();
}

bool SortRuns(const std::string& key, std::vector<v1::Run>* runs) {
  absl::string_view name = key;
  const bool down = absl::ConsumePrefix(&name, "-");
  const bool is_metric = HasMetric(*runs, name);
  const auto value_of = [&](const v1::Run& run) {
    return is_metric ? SortValue{ValueOf(run, name)} : ParamValueOf(run, name);
  };
  std::stable_sort(runs->begin(), runs->end(), [&](const v1::Run& a, const v1::Run& b) {
    const SortValue x = value_of(a), y = value_of(b);
    if (!x.there() || !y.there()) return x.there() && !y.there();
    return down ? y < x : x < y;
  });
  return is_metric || std::any_of(runs->begin(), runs->end(),
                                  [&](const v1::Run& run) { return value_of(run).there(); });
}

bool HasMetric(const std::vector<v1::Run>& runs, absl::string_view key) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const v1::Run& run) { return ValueOf(run, key).has_value(); });
}

Comparison CompareRuns(const std::vector<v1::Run>& runs, const std::vector<std::string>& metrics,
                       const ListingForm& form) {
  const std::vector<std::string> params = ParamKeys(runs);
  std::vector<std::string> shown = metrics.empty() ? MetricKeys(runs) : metrics;
  Comparison comparison;
  if (metrics.empty() && shown.size() > kMostMetrics) {
    comparison.left_out.assign(shown.begin() + kMostMetrics, shown.end());
    shown.resize(kMostMetrics);
  }
  std::vector<Column> columns = {
      {"id", "RUN"}, {"state", "STATE"}, {"name", "NAME"}, {"user", "USER"}, {"took_us", "TOOK"}};
  for (const std::string& key : params) columns.push_back({"", OneLine(key)});
  for (const std::string& key : shown) columns.push_back({"", OneLine(key)});
  columns.push_back({"reason", "REASON"});
  Listing listing(columns, form);
  for (const v1::Run& run : runs) {
    listing.Integer(run.id())
        .Text(Word(run.state()), ColourOf(run.state()))
        .Text(run.name())
        .Text(run.user())
        .Span(HasRunTime(run.state()) ? run.started_at_us() : 0, run.ended_at_us());
    for (const std::string& key : params) listing.TableOnly(ParamOf(run, key));
    for (const std::string& key : shown) listing.TableOnly(MetricOf(run, key));
    listing.Text(run.reason()).EndRow();
  }
  comparison.table = listing.Finish();
  return comparison;
}

}  // namespace hpc::client
