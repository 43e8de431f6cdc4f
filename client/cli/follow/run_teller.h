// Tells about a run that is followed: what it waits for, where it goes on, and how it ended.
#ifndef HPC_CLIENT_CLI_FOLLOW_RUN_TELLER_H_
#define HPC_CLIENT_CLI_FOLLOW_RUN_TELLER_H_

#include "client/cli/session.h"
#include "client/cli/show/moves.h"

namespace hpc::client {

class RunTeller {
 public:
  explicit RunTeller(Session* session) : session_(session), moves_(!session->err().terminal()) {}

  // Tells of an update in the progress line, and as a notice if it needs one. All updates must be
  // of one run.
  void Tell(const v1::RunUpdate& update);
  // Is called when the run is over. Tells how it ended, unless it ended well, and names the
  // commands that say more. Returns the exit code.
  int TellEnd(Client* client, const v1::Run& run);

 private:
  void ShowProgress(const v1::RunUpdate& update);

  Session* const session_;
  Moves moves_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_RUN_TELLER_H_
