#include "client/cli/run_sections.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/record.h"
#include "client/cli/times.h"
#include "client/cli/words.h"

namespace hpc::client {
namespace {

using Pairs = google::protobuf::RepeatedPtrField<v1::KeyValue>;

std::vector<std::string> Joined(const Pairs& pairs) {
  std::vector<std::string> joined;
  for (const v1::KeyValue& pair : pairs) {
    joined.push_back(absl::StrCat(pair.key(), "=", pair.value()));
  }
  return joined;
}

std::string PairsJson(const Pairs& pairs) {
  JsonWriter json;
  json.BeginObject();
  for (const v1::KeyValue& pair : pairs) {
    json.Key(pair.key());
    json.String(pair.value());
  }
  json.EndObject();
  return json.Take();
}

template <typename Numbers>
std::vector<std::string> Texts(const Numbers& numbers) {
  std::vector<std::string> texts;
  for (const auto number : numbers) texts.push_back(absl::StrCat(number));
  return texts;
}

void AddState(const v1::RunDetail& detail, int64_t now_us, Record* record) {
  const v1::Run& run = detail.run();
  record->Integer("id", "Run", run.id());
  record->Text("name", "Name", run.name());
  record->Text("state", "State", Word(run.state()), ColourOf(run.state()));
  record->Text("reason", "Reason", run.reason());
  record->Text("rendezvous", "Rendezvous", detail.rendezvous());
  if (IsOver(run.state())) record->Integer("exit_code", "Exit code", run.exit_code());
  if (run.queue_position() > 0) {
    record->Integer("queue_position", "Place in queue", run.queue_position());
  }
  record->Text("experiment", "Experiment", run.experiment());
  record->Text("user", "User", run.user());
  record->Time("submitted_at", "Submitted", run.submitted_at_us());
  record->Time("started_at", "Started", run.started_at_us());
  record->Time("ended_at", "Ended", run.ended_at_us());
  if (run.started_at_us() != 0) {
    record->Note("Took", Took(run.started_at_us(), run.ended_at_us(), now_us));
  }
  record->Integer("failures", "Failures", run.failures());
  record->Bool("cancel_requested", "", run.cancel_requested());
}

void AddWishes(const v1::RunSpec& spec, Record* record) {
  record->Note("Command", ShellLine(spec.command()));
  JsonWriter command;
  command.BeginArray();
  for (const std::string& word : spec.command()) command.String(word);
  command.EndArray();
  record->Raw("command", command.text());
  record->Text("workdir", "Directory", spec.workdir());
  record->Note("Wants nodes", NodeRange(spec.min_nodes(), spec.max_nodes()));
  record->Integer("min_nodes", "", spec.min_nodes());
  record->Integer("max_nodes", "", spec.max_nodes());
  record->Integer("ranks_per_node", "", spec.ranks_per_node());
  if (spec.ranks_per_node() > 0) {
    record->Note("Ranks per node", absl::StrCat(spec.ranks_per_node()));
  }
  if (spec.has_gpus_per_node()) {
    record->Integer("gpus_per_node", "GPUs per node", spec.gpus_per_node());
  }
  record->Items("node_list", "Only on", spec.node_list());
  record->Items("exclude", "Never on", spec.exclude());
  record->Text("mode", "Mode", Word(spec.mode()));
  record->Text("store", "Store", Word(spec.store_host()));
  record->Text("legacy_local_rank", "", Word(spec.legacy_local_rank()));
  record->Integer("priority", "Priority", spec.priority());
  if (spec.after_run() != 0) record->Integer("after", "After run", spec.after_run());
  record->Duration("time_limit_ms", "Time limit", spec.time_limit_ms());
  record->Integer("max_restarts", "Max restarts", spec.max_restarts());
  record->Duration("stop_grace_ms", "Stop grace", spec.stop_grace_ms());
  record->Text("submit_host", "Submitted on", spec.submit_host());
  record->Raw("params", PairsJson(spec.params()));
  for (const std::string& param : Joined(spec.params())) record->Note("Param", param);
  record->Items("tags", "Tags", spec.tags());
  record->Raw("env", PairsJson(spec.env()));
  for (const std::string& variable : Joined(spec.env())) record->Note("Env", variable);
}

void AddCode(const v1::CodeState& code, Record* record) {
  if (code.repository().empty()) return;
  record->BeginGroup("code");
  record->Text("repository", "Repository", code.repository());
  record->Text("commit", "Commit", code.commit());
  record->Text("branch", "Branch", code.branch());
  record->Bool("dirty", "", code.dirty());
  record->Text("diff", "", code.diff());
  record->Bool("diff_cut", "", code.diff_cut());
  record->EndGroup();
  if (code.dirty()) {
    record->Note("Uncommitted",
                 absl::StrCat("yes (--diff shows it)", code.diff_cut() ? ", cut" : ""));
  }
}

Listing Attempts(const v1::RunDetail& detail, const ListingForm& form) {
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

Listing Placements(const v1::RunDetail& detail, const ListingForm& form) {
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
        .Nested([&](JsonWriter* json) { json->Raw(PairsJson(placement.facts())); })
        .Nested([&](JsonWriter* json) { json->Raw(PairsJson(placement.added_env())); })
        .EndRow();
  }
  return listing;
}

Listing Ranks(const v1::RunDetail& detail, const ListingForm& form) {
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
        .Text(exit.message())
        .EndRow();
  }
  return listing;
}

Listing Metrics(const v1::RunDetail& detail, const ListingForm& form) {
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

Listing LogStreams(const v1::RunDetail& detail, const ListingForm& form) {
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

// What the tables have no room for.
std::string Remarks(const v1::RunDetail& detail) {
  std::string out;
  for (const v1::Attempt& attempt : detail.attempts()) {
    if (attempt.placement_reason().empty()) continue;
    absl::StrAppend(&out, "Attempt ", attempt.number(),
                    " was placed so: ", OneLine(attempt.placement_reason()), "\n");
  }
  for (const v1::Placement& placement : detail.placements()) {
    const std::string where = absl::StrCat(placement.attempt(), " on ", placement.node());
    if (!placement.facts().empty()) {
      absl::StrAppend(&out, "Attempt ", where, " ran with ",
                      OneLine(absl::StrJoin(Joined(placement.facts()), ", ")), "\n");
    }
    if (!placement.added_env().empty()) {
      absl::StrAppend(&out, "Attempt ", where, " was given ",
                      OneLine(absl::StrJoin(Joined(placement.added_env()), " ")), "\n");
    }
  }
  return out;
}

std::string Tracebacks(const v1::RunDetail& detail) {
  std::string out;
  for (const v1::Rank& rank : detail.ranks()) {
    if (rank.exit().traceback().empty()) continue;
    absl::StrAppend(&out, "\nTraceback of rank ", rank.rank(), " in attempt ", rank.attempt(),
                    ":\n");
    for (absl::string_view line : absl::StrSplit(rank.exit().traceback(), '\n')) {
      absl::StrAppend(&out, "  ", OneLine(line), "\n");
    }
  }
  return out;
}

}  // namespace

std::string ShellLine(const google::protobuf::RepeatedPtrField<std::string>& words) {
  constexpr absl::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:@%^";
  std::vector<std::string> quoted;
  for (const std::string& word : words) {
    const bool plain = !word.empty() &&
                       word.find_first_not_of(kPlain.data(), 0, kPlain.size()) == std::string::npos;
    quoted.push_back(plain ? word
                           : absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'"));
  }
  return absl::StrJoin(quoted, " ");
}

std::string RunStory(const v1::RunDetail& detail, const ListingForm& form) {
  Record head(form);
  head.BeginGroup("run");
  AddState(detail, form.now_us, &head);
  head.EndGroup();
  head.BeginGroup("spec");
  AddWishes(detail.spec(), &head);
  AddCode(detail.spec().code(), &head);
  head.EndGroup();
  struct Section {
    const char* key;
    const char* title;
    Listing listing;
  };
  Section sections[] = {{"attempts", "Attempts", Attempts(detail, form)},
                        {"placements", "Nodes", Placements(detail, form)},
                        {"ranks", "Ranks", Ranks(detail, form)},
                        {"metrics", "Metrics", Metrics(detail, form)},
                        {"logs", "Logs", LogStreams(detail, form)}};
  std::string tables;
  for (Section& section : sections) {
    if (form.json) {
      head.Raw(section.key, section.listing.Finish());
    } else if (!section.listing.empty()) {
      absl::StrAppend(&tables, "\n", section.title, "\n", section.listing.Finish());
    }
  }
  if (form.json) return head.Finish();
  const std::string remarks = Remarks(detail);
  return absl::StrCat(head.Finish(), tables, remarks.empty() ? "" : "\n", remarks,
                      Tracebacks(detail));
}

}  // namespace hpc::client
