#include "client/cli/show/run_sections.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/forms/record.h"
#include "client/cli/forms/times.h"
#include "client/cli/input/run_options.h"
#include "client/cli/show/run_tables.h"
#include "client/cli/show/words.h"
#include "client/run_state.h"
#include "common/text.h"

namespace hpc::client {
namespace {

using Pairs = google::protobuf::RepeatedPtrField<v1::KeyValue>;

std::string PairsJson(const Pairs& pairs) {
  JsonWriter json;
  WritePairs(pairs, &json);
  return json.Take();
}

std::vector<std::string> Joined(const Pairs& pairs) {
  std::vector<std::string> joined;
  for (const v1::KeyValue& pair : pairs) {
    joined.push_back(absl::StrCat(pair.key(), "=", pair.value()));
  }
  return joined;
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
  if (run.started_at_us() != 0 && HasRunTime(run.state())) {
    record->Note("Took", Took(run.started_at_us(), run.ended_at_us(), now_us));
  }
  record->Integer("failures", "Failures", run.failures());
  record->Integer("losses", "", run.losses());
  if (run.losses() > 0) record->Note("Losses", absl::StrCat(run.losses()));
  record->Integer("retries", "", run.retries());
  if (run.retries() > 0) record->Note("Retries", absl::StrCat(run.retries()));
  record->Bool("cancel_requested", "", run.cancel_requested());
  record->Text("on_hold", "", run.on_hold());
}

void AddOption(const RunOption& option, const v1::RunSpec& spec, Record* record) {
  if (option.to.get == nullptr) return;
  const std::optional<int64_t> value = option.to.get(spec);
  if (!value) return;
  if (option.form == Form::kSpan) {
    record->Duration(absl::StrCat(option.field, "_ms"), option.title, *value);
  } else if (option.form == Form::kNumber) {
    // A 0 that cannot be typed says nothing to people.
    record->Integer(option.field, *value == 0 && option.min > 0 ? "" : option.title, *value);
  } else {
    const bool idle = option.field == "grow" && spec.max_nodes() <= spec.min_nodes();
    record->Text(option.field, idle ? "" : option.title, WordFor(option, *value));
  }
}

void AddWishes(const v1::RunSpec& spec, Record* record) {
  record->Note("Command", ShellLine(spec.command()));
  record->Items("command", "", spec.command());
  record->Text("workdir", "Directory", spec.workdir());
  record->Text("umask", spec.umask() == 022 ? "" : "Umask", absl::StrFormat("%03o", spec.umask()));
  record->Note("Wants nodes", NodeRange(spec.min_nodes(), spec.max_nodes()));
  record->Integer("min_nodes", "", spec.min_nodes());
  record->Integer("max_nodes", "", spec.max_nodes());
  for (const RunOption& option : AllRunOptions()) AddOption(option, spec, record);
  record->Items("node_list", "Only on", spec.node_list());
  record->Items("exclude", "Never on", spec.exclude());
  record->Items("retry_exits", "Retry exits", spec.retry_exits());
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

// Says what each attempt ran with. Nodes of a kind share a line.
std::string Facts(const v1::RunDetail& detail) {
  std::map<std::pair<int, std::string>, std::vector<std::string>> nodes;
  for (const v1::Placement& placement : detail.placements()) {
    if (placement.facts().empty()) continue;
    const std::string facts = OneLine(absl::StrJoin(Joined(placement.facts()), ", "));
    nodes[{placement.attempt(), facts}].push_back(placement.node());
  }
  std::string out;
  for (const auto& [of, names] : nodes) {
    absl::StrAppend(&out, "Attempt ", of.first, " on ", JoinWords(names), " ran with ", of.second,
                    "\n");
  }
  return out;
}

// Says what the tables have no room for.
std::string Remarks(const v1::RunDetail& detail) {
  std::string out;
  for (const v1::Attempt& attempt : detail.attempts()) {
    if (attempt.placement_reason().empty()) continue;
    absl::StrAppend(&out, "Attempt ", attempt.number(),
                    " was placed so: ", OneLine(attempt.placement_reason()), "\n");
  }
  out += Facts(detail);
  const bool env_known =
      std::any_of(detail.placements().begin(), detail.placements().end(),
                  [](const v1::Placement& placement) { return !placement.added_env().empty(); });
  if (env_known) {
    absl::StrAppend(&out, "'hpcctl show ", detail.run().id(),
                    " --env' lists the variables that its ranks were given\n");
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

std::string EnvironmentStory(const v1::RunDetail& detail) {
  std::string out;
  for (const v1::Placement& placement : detail.placements()) {
    if (placement.added_env().empty()) continue;
    const int first = placement.first_rank();
    absl::StrAppend(
        &out, out.empty() ? "" : "\n", "Attempt ", placement.attempt(), " on ", placement.node(),
        ", rank ", first,
        placement.ranks() < 2 ? "" : absl::StrCat(" to ", first + placement.ranks() - 1), "\n");
    for (const std::string& pair : Joined(placement.added_env())) {
      absl::StrAppend(&out, "  ", OneLine(pair), "\n");
    }
  }
  return out;
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
  Section sections[] = {{"attempts", "Attempts", AttemptTable(detail, form)},
                        {"placements", "Nodes", PlacementTable(detail, form)},
                        {"ranks", "Ranks", RankTable(detail, form)},
                        {"metrics", "Metrics", MetricTable(detail, form)},
                        {"logs", "Logs", LogStreamTable(detail, form)}};
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
