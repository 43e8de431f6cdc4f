#include "coordinator/rpc/doors/listen.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "common/files/files.h"
#include "common/net/dial.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;
using testing::TempDir;

TEST(ListenOn, APortInUseIsNamed) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(fd.get(), 1), 0);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const int port = ntohs(address.sin_port);
  EXPECT_THAT(ListenOn({.host = "127.0.0.1", .port = port}),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("127.0.0.1:" + std::to_string(port) + ": another program")));
}

TEST(ListenOn, AnAddressOfAnotherMachineIsNamed) {
  EXPECT_THAT(ListenOn({.host = "192.0.2.1", .port = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no interface")));
}

TEST(ListenOn, AFreeOneIsFine) { EXPECT_OK(ListenOn({.host = "127.0.0.1", .port = 0})); }

TEST(ListenAt, OneThatIsTooLongIsRefused) {
  EXPECT_THAT(ListenAt("/tmp/" + std::string(200, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("107")));
}

TEST(ListenAt, AFileIsNotReplaced) {
  const TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.File("sock"), "precious"));
  EXPECT_THAT(ListenAt(dir.File("sock")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a socket")));
}

TEST(ListenAt, ALeftoverSocketIsFineALiveOneIsNot) {
  const TempDir dir;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  dir.File("sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd.get(), 1), 0);
  EXPECT_THAT(ListenAt(dir.File("sock")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("another coordinator")));
  fd.Reset();
  EXPECT_OK(ListenAt(dir.File("sock")));
}

TEST(ListenAt, OneThatHasTooManyWaitingIsAlive) {
  const TempDir dir;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  dir.File("sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd.get(), 0), 0);
  const UniqueFd waiting = DialUnix(dir.File("sock"));
  ASSERT_TRUE(waiting.ok());
  EXPECT_THAT(ListenAt(dir.File("sock")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("another coordinator")));
}

TEST(ListenAt, AMissingFolderIsNamed) {
  EXPECT_THAT(ListenAt("/nonexistent/sock"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nonexistent/sock")));
}

}  // namespace
}  // namespace hpc::coordinator
