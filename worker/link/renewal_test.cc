#include "worker/link/renewal.h"

#include <gtest/gtest.h>

#include "common/clock.h"
#include "common/files/files.h"
#include "common/status_matchers.h"
#include "member/testing.h"

namespace hpc::worker {
namespace {

using ::testing::SizeIs;

class RenewalTest : public ::testing::Test {
 protected:
  RenewalTest() { RemoveTree(folder_).IgnoreError(); }

  void Enrol(const pki::Membership& membership, std::vector<Endpoint> addresses) {
    ASSERT_OK(pki::SaveMembership(folder_, membership));
    route_ = std::make_unique<Route>(std::move(addresses), member::Security::Of(membership));
    renewal_ = std::make_unique<Renewal>(&loop_, route_.get(), folder_, membership);
  }
  void RunUntil(const std::function<bool()>& done) {
    const MonoTime limit = clock_.Get().mono + absl::Seconds(20);
    while (!done()) {
      ASSERT_LT(clock_.Get().mono, limit) << "it does not happen";
      loop_.RunOnce(absl::Milliseconds(5));
    }
  }
  void Connect() {
    route_->OnAnswered();
    renewal_->OnConnected(clock_.Get().wall);
  }
  pki::Membership Saved() const { return *pki::LoadMembership(folder_); }

  const std::string folder_ = ::testing::TempDir() + "renewal/identity";
  const member::TestCoordinator coordinator_;
  RealClock clock_;
  EventLoop loop_{&clock_};
  std::unique_ptr<Route> route_;
  std::unique_ptr<Renewal> renewal_;
};

TEST_F(RenewalTest, RenewsACertificateThatIsDue) {
  const pki::Membership old =
      coordinator_.Admit(pki::Role::kWorker, "pc1", absl::Hours(3), absl::Now() - absl::Hours(2));
  Enrol(old, old.addresses);
  Connect();
  RunUntil([&] { return route_->security().key != old.key_pem; });
  EXPECT_EQ(coordinator_.renewals(), 1);
  EXPECT_EQ(Saved().key_pem, route_->security().key);
  EXPECT_EQ(Saved().certificate_pem, route_->security().certificate);
  EXPECT_THAT(Saved().addresses, SizeIs(1));
}

TEST_F(RenewalTest, RenewsForAnAuthorityThatItDoesNotKnow) {
  const pki::Membership pc1 = coordinator_.Admit(pki::Role::kWorker, "pc1");
  Enrol(pc1, pc1.addresses);
  const std::string next =
      pki::Authority::Create("0123456789abcdef", absl::Now())->certificate().ToPem();
  route_->set_shown(pc1.certificate_pem + next);
  Connect();
  RunUntil([&] { return route_->security().key != pc1.key_pem; });
}

TEST_F(RenewalTest, NoticesANewAuthorityWhileTheConnectionStays) {
  pki::Membership pc1 = coordinator_.Admit(pki::Role::kWorker, "pc1");
  pc1.authorities_pem = coordinator_.former().certificate().ToPem();
  Enrol(pc1, pc1.addresses);
  renewal_->Check(clock_.Get().wall);
  RunUntil([&] { return route_->security().key != pc1.key_pem; });
  EXPECT_EQ(Saved().authorities_pem, coordinator_.authority().certificate().ToPem());
}

TEST_F(RenewalTest, LeavesAGoodCertificateAlone) {
  const pki::Membership pc1 = coordinator_.Admit(pki::Role::kWorker, "pc1");
  Enrol(pc1, pc1.addresses);
  route_->set_shown(pc1.certificate_pem + pc1.authorities_pem);
  Connect();
  renewal_.reset();  // waits for what is being done
  EXPECT_EQ(coordinator_.renewals(), 0);
  EXPECT_EQ(Saved().key_pem, pc1.key_pem);
}

TEST_F(RenewalTest, RemembersWhereTheCoordinatorAnswered) {
  pki::Membership pc1 = coordinator_.Admit(pki::Role::kWorker, "pc1");
  const Endpoint nobody = *ParseEndpoint("127.0.0.1:1");
  pc1.addresses = {nobody, coordinator_.address()};
  Enrol(pc1, pc1.addresses);
  route_->OnClosed(absl::UnavailableError("nobody")).IgnoreError();
  Connect();
  RunUntil([&] { return Saved().addresses[0] == coordinator_.address(); });
  EXPECT_EQ(Saved().addresses[1], nobody);
}

TEST_F(RenewalTest, WhatFailsChangesNothing) {
  const member::TestCoordinator other;
  const pki::Membership pc1 = coordinator_.Admit(pki::Role::kWorker, "pc1");
  Enrol(pc1, {other.address()});
  renewal_->RenewNow();
  renewal_.reset();
  EXPECT_EQ(Saved().key_pem, pc1.key_pem);
  EXPECT_EQ(route_->security().key, pc1.key_pem);
  EXPECT_EQ(other.renewals(), 0);
}

}  // namespace
}  // namespace hpc::worker
