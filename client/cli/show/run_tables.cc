#include "client/cli/show/run_tables.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/show/words.h"
#include "common/telling_line.h"

namespace hpc::client {
namespace {

template <typename Numbers>
std::vector<std::string> Texts(const Numbers& numbers) {
  std::vector<std::string> texts;
  for (const auto number : numbers) texts.push_back(absl::StrCat(number));
  return texts;
}

}  // namespace

void WritePairs(const google::protobuf::RepeatedPtrField<v1::KeyValue>& pairs, JsonWriter* json) {
  json->BeginObject();
  for (const v1::KeyValue& pair : pairs) {
    json->Key(pair.key());
    json->String(pair.value());
  }
  json->EndObject();
}

Listing AttemptTable(const v1::RunDetail& detail, const ListingForm& form) {
  Listing listing({{"number", "ATTEMPT"},
                   {"state", "STATE"},
                   {"outcome", "OUTCOME"},
                   {"world_size", "RANKS"},
                   {"master_addr", ""},
                   {"master_port", ""},
                   {"store_host", ""},
                   {"created_at", ""},
                   {"started_at", "STARTED"},
                   {"ended_at", ""},
                   {"took_us", "TOOK"},
                   {"placement_reason", ""},
                   {"reason", "REASON"}},
                  form);
  for (const v1::Attempt& attempt : detail.attempts()) {
    listing.Integer(attempt.number())
        .Text(attempt.state())
        .Text(attempt.outcome(), attempt.outcome() == "succeeded" ? Colour::kGood : Colour::kNone)
        .Integer(attempt.world_size())
        .Text(attempt.master_addr())
        .Integer(attempt.master_port())
        .Text(attempt.store_host())
        .Time(attempt.created_at_us())
        .Time(attempt.started_at_us())
        .Time(attempt.ended_at_us())
        .Span(attempt.started_at_us(), attempt.ended_at_us())
        .Text(attempt.placement_reason())
        .Text(attempt.reason())
        .EndRow();
  }
  return listing;
}

Listing PlacementTable(const v1::RunDetail& detail, const ListingForm& form) {
  Listing listing({{"attempt", "ATTEMPT"},
                   {"node", "NODE"},
                   {"node_rank", "NODE RANK"},
                   {"address", "ADDRESS"},
                   {"devices", "DEVICES"},
                   {"first_rank", "FIRST RANK"},
                   {"ranks", "RANKS"},
                   {"returned", "RETURNED"},
                   {"facts", ""},
                   {"added_env", ""}},
                  form);
  for (const v1::Placement& placement : detail.placements()) {
    listing.Integer(placement.attempt())
        .Text(placement.node())
        .Integer(placement.node_rank())
        .Text(placement.address())
        .Items(Texts(placement.devices()))
        .Integer(placement.first_rank())
        .Integer(placement.ranks())
        .Bool(placement.returned())
        .Nested([&](JsonWriter* json) { WritePairs(placement.facts(), json); })
        .Nested([&](JsonWriter* json) { WritePairs(placement.added_env(), json); })
        .EndRow();
  }
  return listing;
}

Listing RankTable(const v1::RunDetail& detail, const ListingForm& form) {
  Listing listing({{"attempt", "ATTEMPT"},
                   {"rank", "RANK"},
                   {"local_rank", ""},
                   {"node", "NODE"},
                   {"devices", "DEVICES"},
                   {"pid", "PID"},
                   {"exit", "EXIT"},
                   {"exit_code", ""},
                   {"signal", ""},
                   {"after_stop", ""},
                   {"started_at", ""},
                   {"ended_at", ""},
                   {"took_us", "TOOK"},
                   {"traceback", ""},
                   {"message", "MESSAGE"}},
                  form);
  for (const v1::Rank& rank : detail.ranks()) {
    const v1::RankExit& exit = rank.exit();
    listing.Integer(rank.attempt())
        .Integer(rank.rank())
        .Integer(rank.local_rank())
        .Text(rank.node())
        .Items(Texts(rank.devices()))
        .Integer(rank.pid())
        .Text(ExitWords(rank));
    exit.has_exit_code() ? listing.Integer(exit.exit_code()) : listing.None();
    exit.has_signal() ? listing.Integer(exit.signal()) : listing.None();
    listing.Bool(exit.after_stop())
        .Time(rank.started_at_us())
        .Time(rank.ended_at_us())
        .Span(rank.started_at_us(), rank.ended_at_us())
        .Text(exit.traceback())
        .Both(TellingLine(exit.message()), exit.message())
        .EndRow();
  }
  return listing;
}

Listing MetricTable(const v1::RunDetail& detail, const ListingForm& form) {
  Listing listing({{"key", "METRIC"},
                   {"points", "POINTS"},
                   {"last_step", "LAST STEP"},
                   {"last", "LAST"},
                   {"min", "MIN"},
                   {"max", "MAX"}},
                  form);
  for (const v1::MetricSummary& metric : detail.metrics()) {
    listing.Text(metric.key())
        .Integer(metric.points())
        .Integer(metric.last_step())
        .Real(metric.last())
        .Real(metric.min())
        .Real(metric.max())
        .EndRow();
  }
  return listing;
}

Listing LogStreamTable(const v1::RunDetail& detail, const ListingForm& form) {
  Listing listing({{"attempt", "ATTEMPT"},
                   {"rank", "RANK"},
                   {"stream", "STREAM"},
                   {"bytes", "SIZE"},
                   {"cut_bytes", "CUT"}},
                  form);
  for (const v1::LogStream& stream : detail.log_streams()) {
    listing.Integer(stream.attempt())
        .Integer(stream.rank())
        .Text(stream.is_stderr() ? "stderr" : "stdout")
        .Bytes(stream.bytes())
        .Bytes(stream.cut_bytes())
        .EndRow();
  }
  return listing;
}

}  // namespace hpc::client
