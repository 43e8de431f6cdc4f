// Who is let in: a running coordinator, real TLS, every call and every kind of caller.
#include <arpa/inet.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>
#include <string>
#include <thread>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/pki/join_token.h"
#include "common/pki/tls/probe.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "coordinator/rpc/testing/raw_call.h"
#include "coordinator/rpc/testing/test_server.h"
#include "coordinator/trust/permissions.h"
#include "hpc/v1/trust.grpc.pb.h"
#include "hpc/v1/worker.grpc.pb.h"

namespace hpc::coordinator {
namespace {

using grpc::StatusCode;
using pki::Role;
using ::testing::AllOf;
using testing::Context;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RawCall;
using testing::TestServer;

// A key and a certificate for it, as a member has them.
struct Member {
  std::string key, certificate;
};

Member Issue(const pki::Keyring& keyring, Role role, const std::string& name,
             absl::Time now = absl::Now(), absl::Duration lifetime = absl::Hours(2)) {
  const pki::PrivateKey key = *pki::PrivateKey::Generate();
  const auto certificate = keyring.Sign(*pki::SigningRequest::Make(key), role, name, now, lifetime);
  EXPECT_OK(certificate);
  return {*key.ToPem(""), certificate->ToPem()};
}

class TrustRpcTest : public ::testing::Test {
 protected:
  TrustRpcTest() : admin_(v1::Trust::NewStub(server_.channel())) {}

  const pki::Keyring& keyring() { return server_.trust().keyring; }
  std::shared_ptr<grpc::Channel> ChannelOf(const Member& member) {
    return server_.TlsChannel(member.key, member.certificate);
  }
  std::shared_ptr<grpc::Channel> ChannelAs(Role role, const std::string& name) {
    return ChannelOf(Issue(keyring(), role, name));
  }
  grpc::Status ListNodesOver(const std::shared_ptr<grpc::Channel>& channel) {
    v1::ListNodesResponse response;
    return v1::Nodes::NewStub(channel)->List(Context().get(), {}, &response);
  }
  pki::JoinToken MakeToken(const v1::CreateTokenRequest& request) {
    v1::CreateTokenResponse response;
    const grpc::Status status = admin_->CreateToken(Context().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return *pki::ParseJoinToken(response.token());
  }
  // Joins as a PC or a laptop does, over a connection without a certificate.
  grpc::Status Join(const pki::JoinToken& token, const std::string& name, Member* member,
                    absl::Time now = absl::Now()) {
    const pki::PrivateKey key = *pki::PrivateKey::Generate();
    v1::JoinRequest request;
    request.set_secret(token.secret);
    request.set_role(std::string(pki::RoleName(token.role)));
    request.set_name(name);
    request.set_signing_request(pki::SigningRequest::Make(key)->ToPem());
    request.set_now_us(absl::ToUnixMicros(now));
    v1::JoinResponse response;
    const grpc::Status status =
        v1::Trust::NewStub(server_.TlsChannel("", ""))->Join(Context().get(), request, &response);
    if (member != nullptr) *member = {*key.ToPem(""), response.certificate()};
    return status;
  }
  // Everything that was recorded as refused, once there are at least `count` refusals.
  std::string Refusals(size_t count) {
    v1::ListEventsRequest request;
    request.set_security(true);
    request.set_follow(true);
    const auto context = Context();
    const auto reader = server_.cluster().ListEvents(context.get(), request);
    std::string text;
    size_t seen = 0;
    v1::ListEventsResponse response;
    while (seen < count && reader->Read(&response)) {
      for (const v1::Event& event : response.events()) {
        if (event.kind() != "security.refused") continue;
        absl::StrAppend(&text, event.text(), "\n");
        ++seen;
      }
    }
    context->TryCancel();
    return text;
  }

  TestServer server_{/*secure=*/true};
  const std::unique_ptr<v1::Trust::Stub> admin_;
};

// ------------------------------------------------------------------------------ who may do what

TEST(AccessTableTest, HasARowForEveryCallThatTheProtocolHas) {
  std::set<std::string> rows;
  for (const AccessRow& row : AccessTable()) rows.insert(row.method);
  std::set<std::string> methods;
  for (const char* service : {"hpc.v1.Runs", "hpc.v1.Nodes", "hpc.v1.Cluster", "hpc.v1.Trust",
                              "hpc.v1.Worker", "grpc.reflection.v1alpha.ServerReflection"}) {
    const auto* const descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service);
    ASSERT_NE(descriptor, nullptr) << service;
    for (int i = 0; i < descriptor->method_count(); ++i) {
      methods.insert(absl::StrCat(descriptor->full_name(), "/", descriptor->method(i)->name()));
    }
  }
  EXPECT_EQ(rows, methods);
}

TEST_F(TrustRpcTest, EveryCallIsRefusedToEveryStandingThatTheTableDoesNotGrantIt) {
  const struct {
    Standing standing;
    std::shared_ptr<grpc::Channel> channel;
  } callers[] = {{Standing::kNobody, server_.TlsChannel("", "")},
                 {Standing::kWorker, ChannelAs(Role::kWorker, "pc1")},
                 {Standing::kUser, ChannelAs(Role::kUser, "anna")},
                 {Standing::kAdmin, ChannelAs(Role::kAdmin, "root")},
                 {Standing::kAdmin, server_.channel()}};
  for (const AccessRow& row : AccessTable()) {
    // Calling this would change whom the other calls trust.
    if (absl::string_view(row.method) == "hpc.v1.Trust/RotateAuthority") continue;
    for (const auto& caller : callers) {
      const StatusCode code =
          RawCall(caller.channel, absl::StrCat("/", row.method), "").status.error_code();
      const bool refused =
          code == StatusCode::UNAUTHENTICATED || code == StatusCode::PERMISSION_DENIED;
      // A join without a token is refused for another reason.
      if (absl::string_view(row.method) == "hpc.v1.Trust/Join") {
        EXPECT_EQ(code, StatusCode::INVALID_ARGUMENT);
        continue;
      }
      EXPECT_EQ(refused, GrantOf(row.method, caller.standing) == Grant::kNo)
          << row.method << " by " << StandingName(caller.standing) << ": " << code;
    }
  }
}

// ------------------------------------------------------------------ what is no good certificate

TEST_F(TrustRpcTest, WithoutACertificateNothingIsAnsweredAndItIsWrittenDown) {
  const grpc::Status status = ListNodesOver(server_.TlsChannel("", ""));
  EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(status.error_message(), HasSubstr("hpcctl login"));
  EXPECT_THAT(Refusals(1), HasSubstr("127.0.0.1: hpc.v1.Nodes/List needs a certificate"));
}

TEST_F(TrustRpcTest, ACertificateOfAnotherAuthorityIsRefused) {
  const testing::TempDir other;
  const auto theirs = pki::Keyring::Create({other.File("keys"), "", ""}, absl::Now());
  ASSERT_OK(theirs);
  const grpc::Status status = ListNodesOver(ChannelOf(Issue(*theirs, Role::kAdmin, "mallory")));
  EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(status.error_message(), HasSubstr("not signed by this cluster's authority"));
  EXPECT_THAT(Refusals(1), HasSubstr("127.0.0.1"));
}

TEST_F(TrustRpcTest, ACertificateOutsideItsTimeIsRefused) {
  const absl::Time now = absl::Now();
  const Member expired =
      Issue(keyring(), Role::kAdmin, "anna", now - absl::Hours(9), absl::Hours(1));
  EXPECT_THAT(ListNodesOver(ChannelOf(expired)).error_message(), HasSubstr("expired at"));
  const Member early = Issue(keyring(), Role::kAdmin, "anna", now + absl::Hours(9));
  EXPECT_THAT(ListNodesOver(ChannelOf(early)).error_message(), HasSubstr("is not valid before"));
}

TEST_F(TrustRpcTest, ACoordinatorsCertificateIsNoClients) {
  const grpc::Status status = ListNodesOver(ChannelAs(Role::kCoordinator, "coordinator"));
  EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(status.error_message(), HasSubstr("was not made for a client"));
}

v1::Hello HelloFrom(const std::string& node, const std::string& address) {
  v1::Hello hello;
  hello.set_node(node);
  hello.set_protocol_version(1);
  hello.set_incarnation(absl::Hash<std::string>()(address) | 1);
  hello.set_boot_id(address);
  hello.set_address(address);
  return hello;
}

// A worker's connection, up to the answer to its hello.
struct WorkerCall {
  WorkerCall(const std::shared_ptr<grpc::Channel>& channel, const v1::Hello& hello)
      : stub(v1::Worker::NewStub(channel)), stream(stub->Connect(context.get())) {
    v1::WorkerMessage message;
    *message.mutable_hello() = hello;
    stream->Write(message);
    v1::CoordinatorMessage answer;
    welcome = stream->Read(&answer);
    if (!welcome) status = stream->Finish();
  }
  ~WorkerCall() { context->TryCancel(); }

  const std::unique_ptr<grpc::ClientContext> context = Context();
  const std::unique_ptr<v1::Worker::Stub> stub;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>> stream;
  bool welcome = false;
  grpc::Status status;
};

TEST_F(TrustRpcTest, AWorkersCertificateSpeaksForItsNodeOnly) {
  const auto channel = ChannelAs(Role::kWorker, "pc1");
  EXPECT_EQ(ListNodesOver(channel).error_code(), StatusCode::PERMISSION_DENIED);
  const WorkerCall call(channel, HelloFrom("pc2", "127.0.0.1"));
  EXPECT_FALSE(call.welcome);
  EXPECT_EQ(call.status.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(call.status.error_message(), HasSubstr("worker pc1, not of pc2"));
  EXPECT_THAT(Refusals(2), HasSubstr("worker pc1 from 127.0.0.1: this is the certificate of"));
}

TEST_F(TrustRpcTest, ACertificateThatTwoPcsShowAtOnceIsRefusedToTheSecond) {
  const Member pc1 = Issue(keyring(), Role::kWorker, "pc1");
  const WorkerCall first(ChannelOf(pc1), HelloFrom("pc1", "10.0.0.1"));
  EXPECT_TRUE(first.welcome);
  const WorkerCall second(ChannelOf(pc1), HelloFrom("pc1", "10.0.0.2"));
  EXPECT_FALSE(second.welcome);
  EXPECT_EQ(second.status.error_code(), StatusCode::PERMISSION_DENIED);
  for (const std::string& text : {second.status.error_message(), Refusals(1)}) {
    EXPECT_THAT(text, AllOf(HasSubstr("connected from 10.0.0.1"), HasSubstr("this one (10.0.0.2)"),
                            HasSubstr("Both show the certificate of pc1"),
                            HasSubstr("hpcctl cert revoke pc1")));
  }
}

TEST_F(TrustRpcTest, PlainTextAndOldTlsAreSentAwayAndWrittenDown) {
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(server_.tcp().substr(server_.tcp().rfind(':') + 1), &port));
  for (const std::string& opening :
       {std::string("GET / HTTP/1.1\r\n\r\n"),
        // A whole ClientHello without extensions, as TLS 1.2 allows.
        std::string("\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03", 11) + std::string(32, 'r') +
            std::string("\x00\x00\x02\x13\x01\x01\x00\x00\x00", 9)}) {
    const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    ASSERT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_GT(send(fd.get(), opening.data(), opening.size(), MSG_NOSIGNAL), 0);
    std::string answer(64, '\0');
    const ssize_t got = recv(fd.get(), answer.data(), answer.size(), 0);
    EXPECT_LE(got, 7) << "no more than a TLS alert";
  }
  const std::string refusals = Refusals(2);
  EXPECT_THAT(refusals, HasSubstr("127.0.0.1: it speaks no TLS"));
  EXPECT_THAT(refusals, HasSubstr("127.0.0.1: it offers no TLS 1.3"));
}

TEST_F(TrustRpcTest, ACertificateThatIsRevokedEndsItsOpenCallsAtOnce) {
  Member member;
  ASSERT_TRUE(Join(MakeToken({}), "pc1", &member).ok());
  const auto channel = ChannelOf(member);
  const auto context = Context();
  const auto stream = v1::Worker::NewStub(channel)->Connect(context.get());
  v1::WorkerMessage hello;
  hello.mutable_hello()->set_node("pc1");
  hello.mutable_hello()->set_protocol_version(1);
  hello.mutable_hello()->set_incarnation(1);
  hello.mutable_hello()->set_address("127.0.0.1");
  stream->Write(hello);
  v1::CoordinatorMessage answer;
  ASSERT_TRUE(stream->Read(&answer));  // its welcome

  v1::RevokeCertificateRequest request;
  request.set_subject("pc1");
  request.set_reason("sold");
  v1::RevokeCertificateResponse response;
  ASSERT_TRUE(admin_->RevokeCertificate(Context().get(), request, &response).ok());
  EXPECT_EQ(response.certificates(), 1);
  while (stream->Read(&answer)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAUTHENTICATED);

  const auto again = v1::Worker::NewStub(channel)->Connect(Context().get());
  const grpc::Status refused = RawCall(channel, "/hpc.v1.Trust/WhoAmI", "").status;
  EXPECT_THAT(refused.error_message(), HasSubstr("worker pc1 was revoked"));
  EXPECT_THAT(refused.error_message(),
              HasSubstr("sold. To come in again, have an admin make a token for this name"));
}

// -------------------------------------------------------------------------------------- joining

TEST_F(TrustRpcTest, ATokenLeadsAStrangerToMembership) {
  v1::CreateTokenRequest request;
  request.set_role("user");
  const pki::JoinToken token = MakeToken(request);
  ASSERT_EQ(token.addresses.size(), 1);
  EXPECT_EQ(token.addresses[0].ToString(), server_.tcp());
  const auto shown = pki::FetchCertificates(token.addresses[0], absl::Seconds(10));
  ASSERT_OK(shown);
  EXPECT_OK(pki::FindAuthority(*shown, token.authority_hash));

  Member member;
  const grpc::Status joined = Join(token, "wilma", &member);
  ASSERT_TRUE(joined.ok()) << joined.error_message();
  v1::WhoAmIResponse who;
  ASSERT_TRUE(v1::Trust::NewStub(ChannelOf(member))->WhoAmI(Context().get(), {}, &who).ok());
  EXPECT_EQ(who.role(), "user");
  EXPECT_EQ(who.name(), "wilma");
  EXPECT_EQ(who.by(), "certificate");
  EXPECT_THAT(Join(token, "fred", nullptr).error_message(), HasSubstr("used up"));
}

TEST_F(TrustRpcTest, WhatWasGivenOutOutlivesTheCoordinator) {
  v1::CreateTokenRequest request;
  request.set_uses(2);
  const pki::JoinToken token = MakeToken(request);
  Member member;
  ASSERT_TRUE(Join(token, "pc1", &member).ok());
  ASSERT_OK(server_.Stop());
  server_.Start();
  EXPECT_TRUE(RawCall(ChannelOf(member), "/hpc.v1.Trust/WhoAmI", "").status.ok());
  EXPECT_THAT(Join(token, "pc1", nullptr).error_message(), HasSubstr("is a member already"));
  EXPECT_TRUE(Join(token, "pc2", nullptr).ok());
  EXPECT_THAT(Join(token, "pc3", nullptr).error_message(), HasSubstr("used up"));
}

TEST_F(TrustRpcTest, ARefusedJoinIsOneEvent) {
  v1::CreateTokenRequest request;
  request.set_name("pc1");
  const pki::JoinToken token = MakeToken(request);
  EXPECT_EQ(Join(token, "pc2", nullptr).error_code(), StatusCode::PERMISSION_DENIED);
  pki::JoinToken guess = token;
  guess.secret = std::string(pki::kTokenSecretBytes, 'x');
  EXPECT_EQ(Join(guess, "pc3", nullptr).error_code(), StatusCode::UNAUTHENTICATED);
  // Once this last refusal is there, no further events of the others are to come.
  EXPECT_EQ(ListNodesOver(server_.TlsChannel("", "")).error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(Refusals(3), '\n')),
              ElementsAre(AllOf(HasSubstr("is for pc1, not for pc2"), HasSubstr("127.0.0.1")),
                          HasSubstr("to join as worker pc3: this cluster never gave out"),
                          HasSubstr("hpc.v1.Nodes/List needs a certificate"), ""));
}

TEST_F(TrustRpcTest, APcThatIsShutOutIsNoNodeAnyMoreAndCanBeForgotten) {
  const pki::JoinToken token = MakeToken({});
  Member member;
  ASSERT_TRUE(Join(token, "pc1", &member).ok());
  const WorkerCall worker(ChannelOf(member), HelloFrom("pc1", "127.0.0.1"));
  ASSERT_TRUE(worker.welcome);
  v1::ForgetRequest forget;
  forget.set_node("pc1");
  v1::ForgetResponse forgotten;
  grpc::Status status = server_.nodes().Forget(Context().get(), forget, &forgotten);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("is connected"));

  v1::RevokeCertificateRequest revoke;
  revoke.set_subject("worker/pc1");
  revoke.set_reason("stolen");
  v1::RevokeCertificateResponse revoked;
  ASSERT_TRUE(admin_->RevokeCertificate(Context().get(), revoke, &revoked).ok());
  v1::ListNodesResponse nodes;
  ASSERT_TRUE(server_.nodes().List(Context().get(), {}, &nodes).ok());
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_EQ(nodes.nodes(0).state(), "revoked");
  EXPECT_THAT(nodes.nodes(0).reason(), AllOf(HasSubstr("its certificate was revoked by "),
                                             HasSubstr(": stolen; `hpcctl node forget pc1`")));
  EXPECT_EQ(v1::Nodes::NewStub(ChannelAs(Role::kUser, "anna"))
                ->Forget(Context().get(), forget, &forgotten)
                .error_code(),
            StatusCode::PERMISSION_DENIED);
  status = server_.nodes().Forget(Context().get(), forget, &forgotten);
  EXPECT_TRUE(status.ok()) << status.error_message();
  ASSERT_TRUE(server_.nodes().List(Context().get(), {}, &nodes).ok());
  EXPECT_EQ(nodes.nodes_size(), 0);

  v1::CreateTokenRequest again;
  again.set_name("pc1");
  ASSERT_TRUE(Join(MakeToken(again), "pc1", &member).ok());
  v1::Hello hello = HelloFrom("pc1", "127.0.0.1");
  hello.set_incarnation(hello.incarnation() + 1);
  const WorkerCall back(ChannelOf(member), hello);
  EXPECT_TRUE(back.welcome);
  ASSERT_TRUE(server_.nodes().List(Context().get(), {}, &nodes).ok());
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_EQ(nodes.nodes(0).state(), "idle");
}

TEST_F(TrustRpcTest, AWrongClockIsNamedAndKeepsTheToken) {
  const pki::JoinToken token = MakeToken({});
  const grpc::Status status = Join(token, "pc1", nullptr, absl::Now() - absl::Hours(24));
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("1 d behind"));
  EXPECT_TRUE(Join(token, "pc1", nullptr).ok());
}

TEST_F(TrustRpcTest, WhoGuessesTokensHasToWait) {
  pki::JoinToken guess = MakeToken({});
  guess.secret = std::string(pki::kTokenSecretBytes, 'x');
  grpc::Status status;
  for (int i = 0; i < 20; ++i) status = Join(guess, "pc1", nullptr);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("try again in"));
}

TEST_F(TrustRpcTest, ALocalAccountsNameIsNotForWhoeverAsks) {
  v1::CreateTokenRequest request;
  request.set_role("user");
  EXPECT_THAT(Join(MakeToken(request), "root", nullptr).error_message(),
              HasSubstr("--role user --name root"));
  request.set_name("root");
  EXPECT_TRUE(Join(MakeToken(request), "root", nullptr).ok());
}

TEST_F(TrustRpcTest, ACertificateIsRenewedForWhoeverShowsIt) {
  const pki::PrivateKey key = *pki::PrivateKey::Generate();
  v1::RenewRequest request;
  request.set_signing_request(pki::SigningRequest::Make(key)->ToPem());
  v1::RenewResponse response;
  const grpc::Status status = v1::Trust::NewStub(ChannelAs(Role::kWorker, "pc1"))
                                  ->Renew(Context().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const auto channel = ChannelOf({*key.ToPem(""), response.certificate()});
  v1::WhoAmIResponse who;
  ASSERT_TRUE(v1::Trust::NewStub(channel)->WhoAmI(Context().get(), {}, &who).ok());
  EXPECT_EQ(who.name(), "pc1");
  EXPECT_EQ(admin_->Renew(Context().get(), request, &response).error_code(),
            StatusCode::FAILED_PRECONDITION);
}

TEST_F(TrustRpcTest, AfterARotationOldAndNewMembersAreBothLetIn) {
  const Member before = Issue(keyring(), Role::kUser, "anna");
  const pki::JoinToken token = MakeToken({});
  v1::RotateAuthorityResponse response;
  ASSERT_TRUE(admin_->RotateAuthority(Context().get(), {}, &response).ok());
  EXPECT_TRUE(ListNodesOver(ChannelOf(before)).ok());
  EXPECT_TRUE(ListNodesOver(ChannelAs(Role::kUser, "bert")).ok());
  EXPECT_THAT(Join(token, "pc1", nullptr).error_message(), HasSubstr("revoked"));
}

TEST_F(TrustRpcTest, ATokenThatIsMadeAfterARotationWorksAtOnce) {
  for (int i = 0; i < 3; ++i) {
    v1::RotateAuthorityResponse response;
    ASSERT_TRUE(admin_->RotateAuthority(Context().get(), {}, &response).ok());
    const pki::JoinToken token = MakeToken({});
    const auto shown = pki::FetchCertificates(token.addresses[0], absl::Seconds(10));
    ASSERT_OK(shown);
    EXPECT_OK(pki::FindAuthority(*shown, token.authority_hash));
    EXPECT_TRUE(Join(token, absl::StrCat("pc", i), nullptr).ok());
  }
}

// ------------------------------------------------------------------------------ what is whose

TEST_F(TrustRpcTest, WhatAnAdminHoldsAUserDoesNotRelease) {
  const auto anna = v1::Runs::NewStub(ChannelAs(Role::kUser, "anna"));
  v1::SubmitResponse submitted;
  ASSERT_TRUE(anna->Submit(Context().get(), testing::TrueOn(1), &submitted).ok());
  v1::ChangeRequest change;
  change.set_run(submitted.run());
  v1::ChangeResponse changed;
  const auto ask = [&](v1::Runs::Stub* who, bool hold) {
    change.set_hold(hold);
    return who->Change(Context().get(), change, &changed);
  };
  EXPECT_TRUE(ask(anna.get(), true).ok());
  EXPECT_TRUE(ask(anna.get(), false).ok()) << "she holds it herself";
  const auto root = v1::Runs::NewStub(ChannelAs(Role::kAdmin, "root"));
  EXPECT_TRUE(ask(root.get(), true).ok());
  const grpc::Status refused = ask(anna.get(), false);
  EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("held by root"));
  EXPECT_TRUE(ask(root.get(), false).ok());
}

TEST_F(TrustRpcTest, AUserCancelsOwnRunsOnlyAndAnAdminAny) {
  v1::SubmitResponse submitted;
  const auto anna = ChannelAs(Role::kUser, "anna");
  v1::Hello hello = HelloFrom("pc1", "127.0.0.1");
  hello.mutable_inventory()->add_devices()->set_kind(v1::DEVICE_KIND_CPU_SLOT);
  hello.mutable_inventory()->add_owners("anna");
  const WorkerCall worker(ChannelAs(Role::kWorker, "pc1"), hello);
  ASSERT_TRUE(worker.welcome);

  const grpc::Status status =
      v1::Runs::NewStub(anna)->Submit(Context().get(), testing::TrueOn(1), &submitted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  v1::CancelRequest cancel;
  cancel.set_run(submitted.run());
  v1::CancelResponse cancelled;
  const grpc::Status refused = v1::Runs::NewStub(ChannelAs(Role::kUser, "bert"))
                                   ->Cancel(Context().get(), cancel, &cancelled);
  EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("is anna's; you are bert"));
  EXPECT_THAT(Refusals(1), HasSubstr("user bert from 127.0.0.1: run 1 is anna's"));
  v1::ChangeRequest change;
  change.set_run(submitted.run());
  change.set_hold(true);
  v1::ChangeResponse changed;
  EXPECT_EQ(v1::Runs::NewStub(ChannelAs(Role::kUser, "bert"))
                ->Change(Context().get(), change, &changed)
                .error_message(),
            refused.error_message());
  EXPECT_TRUE(v1::Runs::NewStub(anna)->Cancel(Context().get(), cancel, &cancelled).ok());

  v1::ReclaimRequest reclaim;
  reclaim.set_node("pc1");
  v1::ReclaimResponse reclaimed;
  EXPECT_EQ(v1::Nodes::NewStub(ChannelAs(Role::kUser, "bert"))
                ->Reclaim(Context().get(), reclaim, &reclaimed)
                .error_code(),
            StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(v1::Nodes::NewStub(anna)->Reclaim(Context().get(), reclaim, &reclaimed).ok());
}

TEST_F(TrustRpcTest, EventsOfSecurityAreToldToAdminsOnly) {
  ListNodesOver(server_.TlsChannel("", ""));
  Refusals(1);
  const auto stub = v1::Cluster::NewStub(ChannelAs(Role::kUser, "anna"));
  v1::ListEventsRequest request;
  request.set_security(true);
  v1::ListEventsResponse response;
  const auto refused_context = Context();
  const auto refused = stub->ListEvents(refused_context.get(), request);
  EXPECT_FALSE(refused->Read(&response));
  EXPECT_EQ(refused->Finish().error_code(), StatusCode::PERMISSION_DENIED);

  request.set_security(false);
  const auto context = Context();
  const auto all = stub->ListEvents(context.get(), request);
  while (all->Read(&response)) {
    for (const v1::Event& event : response.events()) {
      EXPECT_FALSE(absl::StartsWith(event.kind(), "security.")) << event.text();
    }
  }
  EXPECT_TRUE(all->Finish().ok());
}

}  // namespace
}  // namespace hpc::coordinator
