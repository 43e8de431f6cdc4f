// hpcctl backup: write all that the coordinator knows into a file.
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/commands/cluster/backup_file.h"
#include "client/cli/exit_codes.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

std::string Bytes(int64_t bytes) { return HumanBytes(static_cast<uint64_t>(bytes)); }

class BackupCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "For admins. The cluster works on meanwhile. The file holds runs, metrics, events, the\n"
        "output of ranks and the cluster's keys, so whoever has it can make members: keep it as\n"
        "you keep a key. 'hpc-coordinator restore FILE' makes a coordinator of it, on this or\n"
        "another machine.");
    options->Argument("FILE", &path_, "where to write it");
    options->Flag("--no-logs", &no_logs_, "leave out what ranks have printed");
    options->Flag("--force", &force_, "replace FILE if it exists");
    options->Example("hpcctl backup cluster-2026-11-21.hpc");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(BackupFile file, BackupFile::Begin(path_, force_));
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    v1::BackupRequest request;
    request.set_without_logs(no_logs_);
    int64_t total = 0;
    const absl::Status status = client->Backup(request, [&](const v1::BackupPiece& piece) {
      if (!piece.doing().empty()) {
        session->progress().Show(absl::StrCat("the coordinator ", piece.doing()));
        return absl::OkStatus();
      }
      total = piece.total_bytes();
      const absl::Status written = file.Write(piece.data(), total);
      session->progress().Show(
          absl::StrCat("receives the backup, ", Bytes(file.written()), " of ", Bytes(total)));
      return written;
    });
    session->progress().Clear();
    HPC_RETURN_IF_ERROR(status);
    HPC_RETURN_IF_ERROR(file.Finish(total));
    session->Notice(absl::StrCat("wrote ", path_, ", ", Bytes(total),
                                 "; it holds the cluster's keys: keep it where only you can read "
                                 "it. To use it: hpc-coordinator restore ",
                                 path_));
    return kExitOk;
  }

 private:
  std::string path_;
  bool no_logs_ = false, force_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeBackup() { return std::make_unique<BackupCommand>(); }

}  // namespace hpc::client
