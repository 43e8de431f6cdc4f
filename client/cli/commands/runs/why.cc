// hpcctl why: show what a run or a node waits for, and the decisions that led there.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/find_run.h"
#include "client/cli/show/event_lines.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

std::string Answer(const v1::WhyResponse& why, const ListingForm& form) {
  if (!form.json) {
    const bool named = absl::StartsWith(why.now(), why.subject());
    std::string out = absl::StrCat(named ? "" : why.subject() + ": ", OneLine(why.now()), "\n");
    if (!why.events().empty()) out += "\n";
    for (const v1::Event& event : why.events()) out += EventLine(event, form);
    if (why.left_out() > 0) {
      absl::StrAppend(&out, why.left_out(), " more: hpcctl events --", why.subject(), "\n");
    }
    return out;
  }
  JsonWriter json;
  json.BeginObject();
  json.Key("subject");
  json.String(why.subject());
  json.Key("now");
  json.String(why.now());
  json.Key("events");
  json.BeginArray();
  for (const v1::Event& event : why.events()) {
    json.NewLine();
    json.Raw(EventJson(event));
  }
  json.EndArray();
  json.Key("left_out");
  json.Integer(why.left_out());
  json.EndObject();
  return json.Take() + "\n";
}

class WhyCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Argument("RUN|NODE", &subject_, "number or name of a run, 'last', or name of a node");
    options->Flag("--json", &json_, "print JSON");
    options->Example("hpcctl why 12");
    options->Example("hpcctl why pc2");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    absl::StatusOr<v1::WhyResponse> why = client->Why(subject_);
    if (absl::IsNotFound(why.status())) {  // it is neither a number nor a node
      if (const auto run = FindRun(client, subject_); run.ok())
        why = client->Why(absl::StrCat(*run));
    }
    HPC_RETURN_IF_ERROR(why.status());
    session->out().Write(Answer(*why, FormFor(session->out(), json_, 0)));
    return kExitOk;
  }

 private:
  std::string subject_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeWhy() { return std::make_unique<WhyCommand>(); }

}  // namespace hpc::client
