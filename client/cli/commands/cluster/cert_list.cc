// hpcctl cert list: the members' certificates, newest first.
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/forms/listing.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class CertListCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "A member that has renewed its certificate has more than one until the old one expires.");
    options->Flag("--all", &all_, "also what is expired or revoked");
    options->Flag("--json", &json_, "print JSON");
    options->Example("hpcctl cert list");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const v1::ListCertificatesResponse response,
                         client->ListCertificates(all_));
    Listing listing({{"name", "NAME"},
                     {"role", "ROLE"},
                     {"", "STATE"},
                     {"expires_at", "EXPIRES"},
                     {"issued_at", "ISSUED"},
                     {"issued_to", "TO"},
                     {"revoked_at", ""},
                     {"revoked_by", ""},
                     {"reason", "REASON"},
                     {"serial", "SERIAL"}},
                    FormFor(session->out(), json_, Session::NowUs(0)));
    for (const v1::CertificateInfo& one : response.certificates()) AddRow(one, &listing);
    session->Print(&listing, "no certificates. 'hpcctl token create' lets the first member in");
    return kExitOk;
  }

 private:
  static std::string State(const v1::CertificateInfo& one) {
    if (one.revoked_at_us() != 0) return "revoked by " + one.revoked_by();
    return one.expires_at_us() < Session::NowUs(0) ? "expired" : "valid";
  }

  static void AddRow(const v1::CertificateInfo& one, Listing* listing) {
    listing->Text(one.name())
        .Text(one.role())
        .TableOnly(State(one))
        .Time(one.expires_at_us())
        .Time(one.issued_at_us())
        .Text(one.issued_to())
        .Time(one.revoked_at_us())
        .Text(one.revoked_by())
        .Text(one.reason())
        .Text(one.serial())
        .EndRow();
  }

  bool all_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCertList() { return std::make_unique<CertListCommand>(); }

}  // namespace hpc::client
