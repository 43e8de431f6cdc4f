#include "client/api.h"

#include <grpcpp/grpcpp.h>

#include <set>
#include <utility>

#include "client/connection.h"
#include "client/request_id.h"
#include "client/run_state.h"
#include "client/stub.h"
#include "client/submit_stream.h"
#include "common/status_macros.h"
#include "hpc/v1/nodes.grpc.pb.h"
#include "hpc/v1/runs.grpc.pb.h"
#include "hpc/v1/trust.grpc.pb.h"
#include "member/admission.h"
#include "member/join.h"

namespace hpc::client {
namespace {

// What a user may be kept waiting behind a command that is done.
constexpr absl::Duration kRenewalTime = absl::Seconds(1);

// Hands every message of a stream to `each`, then gives its final status.
template <typename Message, typename Each>
grpc::Status ReadAll(grpc::ClientReader<Message>* reader, Each each) {
  Message message;
  while (reader->Read(&message)) each(message);
  return reader->Finish();
}

}  // namespace

struct Client::Stubs {
  Stubs(std::unique_ptr<Connection> c, std::optional<pki::Holder> h)
      : connection(std::move(c)),
        holder(std::move(h)),
        runs(connection.get()),
        nodes(connection.get()),
        cluster(connection.get()),
        trust(connection.get()) {}

  std::unique_ptr<Connection> connection;
  std::optional<pki::Holder> holder;  // of the certificate that it shows
  Stub<v1::Runs> runs;
  Stub<v1::Nodes> nodes;
  Stub<v1::Cluster> cluster;
  Stub<v1::Trust> trust;
};

Client::Client(std::unique_ptr<Stubs> stubs) : stubs_(std::move(stubs)) {}
Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const Way& way) {
  std::vector<Tried> tried;
  std::optional<pki::Holder> holder;
  const auto look_at_certificate = [&] {
    if (!way.membership || holder) return;
    absl::StatusOr<pki::Holder> found = pki::HolderOf(*way.membership);
    if (found.ok()) holder = *std::move(found);
  };
  for (const Endpoint& endpoint : way.endpoints) {
    auto connection = Connection::Open(endpoint, way.security(), look_at_certificate);
    if (connection.ok()) {
      return std::unique_ptr<Client>(
          new Client(std::make_unique<Stubs>(*std::move(connection), std::move(holder))));
    }
    tried.push_back({endpoint, connection.status()});
  }
  return UnreachableError(tried);
}

const Endpoint& Client::endpoint() const { return stubs_->connection->endpoint(); }

void Client::OnAway(std::function<void()> notice) { stubs_->connection->OnAway(std::move(notice)); }

void Client::Interrupt() { stubs_->connection->Interrupt(); }

// ----------------------------------------------------------------------------------------- runs

absl::StatusOr<int64_t> Client::Submit(const v1::RunSpec& spec) {
  v1::SubmitRequest request;
  *request.mutable_spec() = spec;
  request.set_request_id(NewRequestId());
  v1::SubmitResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Resume([&](grpc::ClientContext* context) {
    return stubs_->runs->Submit(context, request, &response);
  }));
  return response.run();
}

absl::Status Client::SubmitMany(std::function<std::optional<v1::RunSpec>()> next,
                                Sink<v1::SubmitManyResponse> answered) {
  return RunSubmitStream(stubs_->connection.get(), &stubs_->runs, std::move(next), answered);
}

absl::Status Client::Cancel(int64_t run) {
  v1::CancelRequest request;
  request.set_run(run);
  v1::CancelResponse response;
  return stubs_->connection->Resume([&](grpc::ClientContext* context) {
    return stubs_->runs->Cancel(context, request, &response);
  });
}

absl::StatusOr<v1::RunDetail> Client::GetRun(int64_t run) {
  v1::GetRunRequest request;
  request.set_run(run);
  v1::RunDetail detail;
  HPC_RETURN_IF_ERROR(stubs_->connection->Resume(
      [&](grpc::ClientContext* context) { return stubs_->runs->Get(context, request, &detail); }));
  return detail;
}

absl::Status Client::ListRuns(const v1::ListRunsRequest& request, Sink<v1::ListRunsResponse> sink) {
  return stubs_->connection->Once([&](grpc::ClientContext* context) {
    return ReadAll(stubs_->runs->List(context, request).get(), sink);
  });
}

absl::StatusOr<v1::ListExperimentsResponse> Client::ListExperiments() {
  v1::ListExperimentsResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->runs->ListExperiments(context, {}, &response);
  }));
  return response;
}

absl::Status Client::Follow(v1::FollowRequest request, Sink<v1::FollowResponse> sink) {
  bool over = false;
  return stubs_->connection->Resume([&](grpc::ClientContext* context) {
    const grpc::Status status = ReadAll(
        stubs_->runs->Follow(context, request).get(), [&](const v1::FollowResponse& response) {
          stubs_->connection->Progressed();
          if (response.has_output()) {
            request.set_log_position(response.output().next_position());
          } else {
            request.set_after_event(response.state().event());
            over = IsOver(response.state().run().state());
          }
          sink(response);
        });
    if (!status.ok() || over) return status;
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "ended before the run was over");
  });
}

absl::Status Client::Wait(std::vector<int64_t> runs, Sink<v1::WaitResponse> sink) {
  int64_t after_event = 0;
  return stubs_->connection->Resume([&](grpc::ClientContext* context) {
    v1::WaitRequest request;
    request.set_after_event(after_event);
    request.mutable_runs()->Add(runs.begin(), runs.end());
    std::set<int64_t> over;
    const grpc::Status status =
        ReadAll(stubs_->runs->Wait(context, request).get(), [&](const v1::WaitResponse& response) {
          stubs_->connection->Progressed();
          if (response.has_left()) after_event = response.left().event();
          for (const v1::Run& run : response.over()) over.insert(run.id());
          sink(response);
        });
    std::erase_if(runs, [&over](int64_t run) { return over.contains(run); });
    if (!status.ok() || runs.empty()) return status;
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "ended before the runs were over");
  });
}

absl::Status Client::ReadLog(v1::ReadLogRequest request, Sink<v1::LogPiece> sink) {
  return stubs_->connection->Resume([&](grpc::ClientContext* context) {
    return ReadAll(stubs_->runs->ReadLog(context, request).get(), [&](const v1::LogPiece& piece) {
      stubs_->connection->Progressed();
      request.set_position(piece.next_position());
      request.clear_last_bytes();
      sink(piece);
    });
  });
}

absl::Status Client::ListMetrics(v1::ListMetricsRequest request,
                                 Sink<v1::ListMetricsResponse> sink) {
  return stubs_->connection->Resume([&](grpc::ClientContext* context) {
    return ReadAll(stubs_->runs->ListMetrics(context, request).get(),
                   [&](const v1::ListMetricsResponse& response) {
                     stubs_->connection->Progressed();
                     if (response.points_size() > 0) {
                       request.set_after_row(response.points().rbegin()->row());
                     }
                     sink(response);
                   });
  });
}

// ---------------------------------------------------------------------------------------- nodes

absl::StatusOr<v1::ListNodesResponse> Client::ListNodes() {
  v1::ListNodesResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once(
      [&](grpc::ClientContext* context) { return stubs_->nodes->List(context, {}, &response); }));
  return response;
}

absl::Status Client::Reclaim(const v1::ReclaimRequest& request) {
  v1::ReclaimResponse response;
  return stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->nodes->Reclaim(context, request, &response);
  });
}

absl::Status Client::Lend(const std::string& node) {
  v1::LendRequest request;
  request.set_node(node);
  v1::LendResponse response;
  return stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->nodes->Lend(context, request, &response);
  });
}

absl::StatusOr<v1::SleepResponse> Client::Sleep(const std::string& node) {
  v1::SleepRequest request;
  request.set_node(node);
  v1::SleepResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->nodes->Sleep(context, request, &response);
  }));
  return response;
}

absl::Status Client::Wake(const std::string& node) {
  v1::WakeRequest request;
  request.set_node(node);
  v1::WakeResponse response;
  return stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->nodes->Wake(context, request, &response);
  });
}

absl::Status Client::Forget(const std::string& node) {
  v1::ForgetRequest request;
  request.set_node(node);
  v1::ForgetResponse response;
  return stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->nodes->Forget(context, request, &response);
  });
}

// -------------------------------------------------------------------------------------- cluster

absl::StatusOr<v1::GetStatusResponse> Client::GetStatus() {
  v1::GetStatusResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->cluster->GetStatus(context, {}, &response);
  }));
  return response;
}

absl::Status Client::ListEvents(v1::ListEventsRequest request, Sink<v1::ListEventsResponse> sink) {
  return stubs_->connection->Resume([&](grpc::ClientContext* context) {
    return ReadAll(stubs_->cluster->ListEvents(context, request).get(),
                   [&](const v1::ListEventsResponse& response) {
                     stubs_->connection->Progressed();
                     if (response.events_size() > 0) {
                       request.set_after(response.events().rbegin()->id());
                       request.set_newest(0);
                     }
                     sink(response);
                   });
  });
}

absl::StatusOr<v1::WhyResponse> Client::Why(const std::string& subject) {
  v1::WhyRequest request;
  request.set_subject(subject);
  v1::WhyResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->cluster->Why(context, request, &response);
  }));
  return response;
}

absl::Status Client::Backup(const v1::BackupRequest& request,
                            absl::FunctionRef<absl::Status(const v1::BackupPiece&)> sink) {
  absl::Status refused;
  const absl::Status status = stubs_->connection->Once([&](grpc::ClientContext* context) {
    return ReadAll(stubs_->cluster->Backup(context, request).get(),
                   [&](const v1::BackupPiece& piece) {
                     if (!refused.ok()) return;
                     refused = sink(piece);
                     if (!refused.ok()) context->TryCancel();
                   });
  });
  return refused.ok() ? status : refused;
}

// ---------------------------------------------------------------------------------------- trust

absl::StatusOr<v1::CreateTokenResponse> Client::CreateToken(const v1::CreateTokenRequest& request) {
  v1::CreateTokenResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->trust->CreateToken(context, request, &response);
  }));
  return response;
}

absl::StatusOr<v1::ListTokensResponse> Client::ListTokens() {
  v1::ListTokensResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->trust->ListTokens(context, {}, &response);
  }));
  return response;
}

absl::Status Client::RevokeToken(const std::string& id) {
  v1::RevokeTokenRequest request;
  request.set_id(id);
  v1::RevokeTokenResponse response;
  return stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->trust->RevokeToken(context, request, &response);
  });
}

absl::StatusOr<v1::ListCertificatesResponse> Client::ListCertificates(bool all) {
  v1::ListCertificatesRequest request;
  request.set_all(all);
  v1::ListCertificatesResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->trust->ListCertificates(context, request, &response);
  }));
  return response;
}

absl::StatusOr<v1::RevokeCertificateResponse> Client::RevokeCertificate(const std::string& subject,
                                                                        const std::string& reason) {
  v1::RevokeCertificateRequest request;
  request.set_subject(subject);
  request.set_reason(reason);
  v1::RevokeCertificateResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->trust->RevokeCertificate(context, request, &response);
  }));
  return response;
}

absl::StatusOr<v1::RotateAuthorityResponse> Client::RotateAuthority(absl::Duration keep_old) {
  v1::RotateAuthorityRequest request;
  request.set_keep_old_s(absl::ToInt64Seconds(keep_old));
  v1::RotateAuthorityResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](grpc::ClientContext* context) {
    return stubs_->trust->RotateAuthority(context, request, &response);
  }));
  return response;
}

absl::StatusOr<v1::WhoAmIResponse> Client::WhoAmI() {
  v1::WhoAmIResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once(
      [&](grpc::ClientContext* context) { return stubs_->trust->WhoAmI(context, {}, &response); }));
  return response;
}

std::optional<pki::Membership> Client::Renewed(const pki::Membership& membership, absl::Time now) {
  if (!stubs_->holder) return std::nullopt;
  if (!pki::DueForRenewal(*stubs_->holder, now) &&
      member::KnowsAll(membership, stubs_->connection->shown())) {
    return std::nullopt;
  }
  auto renewed = member::Renew(membership, stubs_->connection->channel(), kRenewalTime);
  if (!renewed.ok()) return std::nullopt;
  return *std::move(renewed);
}

}  // namespace hpc::client
