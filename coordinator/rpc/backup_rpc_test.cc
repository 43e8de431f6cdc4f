// A backup over its RPC, made of a coordinator that goes on working.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "coordinator/rpc/testing/test_server.h"
#include "coordinator/store/backup/backup_maker.h"
#include "coordinator/store/backup/backup_restorer.h"
#include "coordinator/store/sqlite_store.h"

namespace hpc::coordinator {
namespace {

using ::grpc::StatusCode;
using testing::Context;
using ::testing::HasSubstr;
using testing::SubmitOk;
using testing::TempDir;
using testing::TestServer;
using testing::TrueOn;

std::string StateDirOf(TestServer& server) {
  v1::GetStatusResponse status;
  EXPECT_TRUE(server.cluster().GetStatus(Context().get(), {}, &status).ok());
  return status.state_dir();
}

// The file is larger than what gRPC takes on its own.
void AddLargeFile(const std::string& state_dir) {
  std::filesystem::create_directory(state_dir + "/keys");
  EXPECT_OK(WriteFileAtomically(state_dir + "/keys/large", std::string(32 << 20, 'x')));
}

TEST(Backup, IsRestoredAsWhatWasThereThen) {
  TestServer server;
  const int64_t run = SubmitOk(server, TrueOn(1));
  const auto context = Context();
  const auto reader = server.cluster().Backup(context.get(), {});
  v1::BackupPiece piece;
  std::string bytes;
  bool said = false;
  while (reader->Read(&piece)) {
    said = said || !piece.doing().empty();
    bytes += piece.data();
  }
  ASSERT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(said);
  EXPECT_EQ(piece.total_bytes(), static_cast<int64_t>(bytes.size()));
  EXPECT_FALSE(std::filesystem::exists(UnfinishedBackup(StateDirOf(server))));
  TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.File("b"), bytes));
  ASSERT_OK(RestoreBackup(dir.File("b"), dir.File("state"), absl::Now()));
  const auto store = OpenSqliteStore(dir.File("state/hpc.db"));
  ASSERT_OK(store);
  EXPECT_OK((*store)->GetRun(run));
}

TEST(Backup, OneIsMadeAtATimeAndOneThatNobodyWantsAnyMoreIsGone) {
  TestServer server;
  const std::string state_dir = StateDirOf(server);
  AddLargeFile(state_dir);
  const auto context = Context();
  const auto reader = server.cluster().Backup(context.get(), {});
  v1::BackupPiece piece;
  ASSERT_TRUE(reader->Read(&piece));
  const auto second_context = Context();
  const auto second = server.cluster().Backup(second_context.get(), {});
  EXPECT_FALSE(second->Read(&piece));
  const grpc::Status refused = second->Finish();
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("another backup is being made"));
  context->TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::CANCELLED);
  // A new backup is accepted only after the call before has ended.
  for (bool ok = false; !ok;) {
    const auto next_context = Context();
    const auto next = server.cluster().Backup(next_context.get(), {});
    while (next->Read(&piece)) {
    }
    ok = next->Finish().ok();
  }
  EXPECT_FALSE(std::filesystem::exists(UnfinishedBackup(state_dir)));
}

TEST(Backup, ACoordinatorThatStopsDoesNotWaitForIt) {
  TestServer server;
  const std::string state_dir = StateDirOf(server);
  AddLargeFile(state_dir);
  const auto context = Context();
  const auto reader = server.cluster().Backup(context.get(), {});
  v1::BackupPiece piece;
  ASSERT_TRUE(reader->Read(&piece));
  EXPECT_OK(server.Stop());
  while (reader->Read(&piece)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_FALSE(std::filesystem::exists(UnfinishedBackup(state_dir)));
}

}  // namespace
}  // namespace hpc::coordinator
