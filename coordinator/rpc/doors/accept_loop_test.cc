#include "coordinator/rpc/doors/accept_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

#include "common/clock.h"
#include "common/net/dial.h"
#include "coordinator/rpc/doors/listen.h"

namespace hpc::coordinator {
namespace {

TEST(AcceptLoopTest, WhoKnocksAndGoesIsNoGuestAnyMore) {
  auto listener = ListenOn({.host = "127.0.0.1", .port = 0});
  ASSERT_TRUE(listener.ok()) << listener.status();
  GuestBook guests({});
  AcceptLoop loop(PlanDescriptors(1024), &guests);
  Door door;
  door.listener = std::move(listener->fd);
  door.tls = true;
  door.on_connection = [](int, UniqueFd) { FAIL() << "it has said nothing"; };
  door.on_refusal = [](const std::string&, const std::string& reason) { FAIL() << reason; };
  loop.Add(std::move(door));
  loop.Start();
  const auto until = [&guests](bool somebody) {
    for (int i = 0; i < 1000; ++i) {
      if ((guests.NextDeadline() != MonoTime::Infinite()) == somebody) return true;
      usleep(5000);
    }
    return false;
  };
  {
    const auto knock = Dial({.host = "127.0.0.1", .port = listener->port},
                            RealClock().Get().mono + absl::Seconds(5));
    ASSERT_TRUE(knock.ok()) << knock.status();
    ASSERT_TRUE(until(true)) << "it is not counted";
  }
  EXPECT_TRUE(until(false)) << "it is still counted";
  loop.Stop();
}

}  // namespace
}  // namespace hpc::coordinator
