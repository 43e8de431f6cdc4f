// hpcctl token list: the tokens, newest first.
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/forms/listing.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class TokenListCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details("A token's line itself is shown once, when it is made, and kept nowhere.");
    options->Flag("--json", &json_, "print JSON");
    options->Example("hpcctl token list");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const v1::ListTokensResponse response, client->ListTokens());
    Listing listing({{"id", "TOKEN"},
                     {"role", "ROLE"},
                     {"name", "NAME"},
                     {"state", "STATE"},
                     {"uses_left", "USES LEFT"},
                     {"expires_at", "EXPIRES"},
                     {"created_at", "CREATED"},
                     {"created_by", "BY"}},
                    FormFor(session->out(), json_, Session::NowUs(0)));
    for (const v1::Token& token : response.tokens()) {
      listing.Text(token.id())
          .Text(token.role())
          .Text(token.name())
          .Text(token.state(), token.state() == "usable" ? Colour::kGood : Colour::kQuiet)
          .Integer(token.uses_left())
          .Time(token.expires_at_us())
          .Time(token.created_at_us())
          .Text(token.created_by())
          .EndRow();
    }
    session->Print(&listing, "no tokens. 'hpcctl token create' makes one");
    return kExitOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTokenList() { return std::make_unique<TokenListCommand>(); }

}  // namespace hpc::client
