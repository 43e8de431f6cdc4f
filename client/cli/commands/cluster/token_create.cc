// hpcctl token create: make a token that lets a PC or a person in.
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/input/usage_error.h"
#include "common/net/endpoint.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

class TokenCreateCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "Prints one line to paste: on a PC that is to run training 'hpc-worker join LINE', on a\n"
        "person's machine 'hpcctl login LINE'. It carries where the coordinator is, by what it is\n"
        "recognised, and a secret: whoever has the line can use it, so send it to nobody else.\n"
        "With --name it is for that name only, and a PC that had the name is shut out.");
    options->Choice("--role", &role_, {"worker", "user", "admin"},
                    "what to let in: a PC or a person (default worker)");
    options->Text("--name", "NAME", &name_, "only a member of this name; replaces one that exists");
    options->Integer("--uses", "N", &uses_, 1, 1000, "how many may join with it (default 1)");
    options->Duration("--expires", "1h", &expires_,
                      "for how long it works (default 1h, at most 30d)");
    options->Texts("--address", "ADDR", &addresses_,
                   "where they reach the coordinator, as 192.168.1.10:7077; may be given several "
                   "times (default: where it listens)");
    options->Example("hpcctl token create");
    options->Example("hpcctl token create --role user --name anna --expires 1d");
    options->Example(
        "hpcctl token create --uses 4 --address 192.168.1.10:7077 --address vpn.home:7077");
  }

  absl::StatusOr<int> Run(Session* session) override {
    for (const std::string& address : addresses_) {
      const absl::StatusOr<Endpoint> endpoint = ParseEndpoint(address);
      if (!endpoint.ok()) {
        return usage::BadValue("--address", absl::string_view(endpoint.status().message()));
      }
    }
    v1::CreateTokenRequest request;
    request.set_role(role_);
    request.set_name(name_);
    request.set_uses(uses_);
    request.set_lifetime_s(absl::ToInt64Seconds(expires_));
    request.mutable_addresses()->Assign(addresses_.begin(), addresses_.end());
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const v1::CreateTokenResponse response, client->CreateToken(request));
    session->out().Write(response.token() + "\n");
    session->Notice(Hint(response));
    return kExitOk;
  }

 private:
  std::string Hint(const v1::CreateTokenResponse& response) const {
    const bool is_pc = role_ == "worker";
    return absl::StrCat(
        "token ", response.id(), " lets ", uses_ == 1 ? "one" : absl::StrCat(uses_), " ",
        is_pc ? "PC" : role_, uses_ == 1 ? "" : "s", name_.empty() ? "" : " named ", name_,
        " in until ", HumanTime(absl::FromUnixMicros(response.expires_at_us())),
        is_pc ? ". On the PC: hpc-worker join " : ". On their machine: hpcctl login ",
        "and the line above", name_.empty() ? "" : ", then --name ", name_);
  }

  std::string role_ = "worker", name_;
  int32_t uses_ = 1;
  absl::Duration expires_ = absl::Hours(1);
  std::vector<std::string> addresses_;
};

}  // namespace

std::unique_ptr<Command> MakeTokenCreate() { return std::make_unique<TokenCreateCommand>(); }

}  // namespace hpc::client
