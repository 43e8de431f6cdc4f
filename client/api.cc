#include "client/api.h"

#include <set>
#include <utility>

#include "client/connection.h"
#include "client/request_id.h"
#include "client/run_state.h"
#include "client/submit_stream.h"
#include "common/status_macros.h"
#include "member/admission.h"
#include "member/join.h"

namespace hpc::client {
namespace {

// How long a user may be kept waiting after a command has done its work.
constexpr absl::Duration kRenewalTime = absl::Seconds(1);
// How long to wait for an answer from the address that answered last, and from each further one.
constexpr absl::Duration kConnectTime = absl::Seconds(5), kConnectTimeOfOthers = absl::Seconds(2);

// Hands every message of a stream to `each`.
template <typename Response>
absl::Status ReadAll(wire::Caller caller, const char* method,
                     const google::protobuf::MessageLite& request,
                     absl::FunctionRef<void(const Response&)> each) {
  return caller.Stream<Response>(method, request, [each](const Response& response) {
    each(response);
    return absl::OkStatus();
  });
}

}  // namespace

struct Client::Stubs {
  std::unique_ptr<Connection> connection;
  std::optional<pki::Holder> holder;  // the holder of the certificate that the client shows
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
    const absl::Duration patience = tried.empty() ? kConnectTime : kConnectTimeOfOthers;
    auto connection = Connection::Open(endpoint, way.security(), patience, look_at_certificate);
    if (connection.ok()) {
      return std::unique_ptr<Client>(
          new Client(std::make_unique<Stubs>(Stubs{*std::move(connection), std::move(holder)})));
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
  HPC_RETURN_IF_ERROR(stubs_->connection->Resume([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Runs/Submit", request, &response);
  }));
  return response.run();
}

absl::Status Client::SubmitMany(std::function<std::optional<v1::RunSpec>()> next,
                                Sink<v1::SubmitManyResponse> answered) {
  return RunSubmitStream(stubs_->connection.get(), std::move(next), answered);
}

absl::Status Client::Cancel(int64_t run, bool interrupt) {
  v1::CancelRequest request;
  request.set_run(run);
  request.set_interrupt(interrupt);
  v1::CancelResponse response;
  return stubs_->connection->Resume(
      [&](wire::Caller caller) { return caller.Unary("/hpc.v1.Runs/Cancel", request, &response); });
}

absl::StatusOr<v1::ChangeResponse> Client::Change(const v1::ChangeRequest& request) {
  v1::ChangeResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Resume([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Runs/Change", request, &response);
  }));
  return response;
}

absl::StatusOr<v1::RunDetail> Client::GetRun(int64_t run) {
  v1::GetRunRequest request;
  request.set_run(run);
  v1::RunDetail detail;
  HPC_RETURN_IF_ERROR(stubs_->connection->Resume(
      [&](wire::Caller caller) { return caller.Unary("/hpc.v1.Runs/Get", request, &detail); }));
  return detail;
}

absl::Status Client::ListRuns(const v1::ListRunsRequest& request, Sink<v1::ListRunsResponse> sink) {
  return stubs_->connection->Once([&](wire::Caller caller) {
    return ReadAll<v1::ListRunsResponse>(caller, "/hpc.v1.Runs/List", request, sink);
  });
}

absl::StatusOr<v1::ListExperimentsResponse> Client::ListExperiments() {
  v1::ListExperimentsResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Runs/ListExperiments", v1::ListExperimentsRequest(), &response);
  }));
  return response;
}

absl::Status Client::Follow(v1::FollowRequest request,
                            absl::FunctionRef<absl::Status(const v1::FollowResponse&)> sink) {
  bool over = false;
  return stubs_->connection->Resume([&](wire::Caller caller) {
    const absl::Status status = caller.Stream<v1::FollowResponse>(
        "/hpc.v1.Runs/Follow", request, [&](const v1::FollowResponse& response) {
          stubs_->connection->Progressed();
          if (response.has_output()) {
            request.set_log_position(response.output().next_position());
          } else {
            request.set_after_event(response.state().event());
            over = IsOver(response.state().run().state());
          }
          return sink(response);
        });
    if (!status.ok() || over) return status;
    return absl::UnavailableError("ended before the run was over");
  });
}

absl::Status Client::Wait(std::vector<int64_t> runs, Sink<v1::WaitResponse> sink) {
  int64_t after_event = 0;
  return stubs_->connection->Resume([&](wire::Caller caller) {
    v1::WaitRequest request;
    request.set_after_event(after_event);
    request.mutable_runs()->Add(runs.begin(), runs.end());
    std::set<int64_t> over;
    const absl::Status status = ReadAll<v1::WaitResponse>(
        caller, "/hpc.v1.Runs/Wait", request, [&](const v1::WaitResponse& response) {
          stubs_->connection->Progressed();
          if (response.has_left()) after_event = response.left().event();
          for (const v1::Run& run : response.over()) over.insert(run.id());
          sink(response);
        });
    std::erase_if(runs, [&over](int64_t run) { return over.contains(run); });
    if (!status.ok() || runs.empty()) return status;
    return absl::UnavailableError("ended before the runs were over");
  });
}

absl::Status Client::ReadLog(v1::ReadLogRequest request, Sink<v1::LogPiece> sink) {
  return stubs_->connection->Resume([&](wire::Caller caller) {
    return ReadAll<v1::LogPiece>(caller, "/hpc.v1.Runs/ReadLog", request,
                                 [&](const v1::LogPiece& piece) {
                                   stubs_->connection->Progressed();
                                   request.set_position(piece.next_position());
                                   request.clear_last_bytes();
                                   sink(piece);
                                 });
  });
}

absl::Status Client::ListMetrics(v1::ListMetricsRequest request,
                                 Sink<v1::ListMetricsResponse> sink) {
  return stubs_->connection->Resume([&](wire::Caller caller) {
    return ReadAll<v1::ListMetricsResponse>(
        caller, "/hpc.v1.Runs/ListMetrics", request, [&](const v1::ListMetricsResponse& response) {
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
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Nodes/List", v1::ListNodesRequest(), &response);
  }));
  return response;
}

absl::Status Client::Reclaim(const v1::ReclaimRequest& request) {
  v1::ReclaimResponse response;
  return stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Nodes/Reclaim", request, &response);
  });
}

absl::Status Client::Lend(const std::string& node) {
  v1::LendRequest request;
  request.set_node(node);
  v1::LendResponse response;
  return stubs_->connection->Once(
      [&](wire::Caller caller) { return caller.Unary("/hpc.v1.Nodes/Lend", request, &response); });
}

absl::StatusOr<v1::SleepResponse> Client::Sleep(const std::string& node) {
  v1::SleepRequest request;
  request.set_node(node);
  v1::SleepResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Nodes/Sleep", request, &response);
  }));
  return response;
}

absl::Status Client::Wake(const std::string& node) {
  v1::WakeRequest request;
  request.set_node(node);
  v1::WakeResponse response;
  return stubs_->connection->Once(
      [&](wire::Caller caller) { return caller.Unary("/hpc.v1.Nodes/Wake", request, &response); });
}

absl::Status Client::Forget(const std::string& node) {
  v1::ForgetRequest request;
  request.set_node(node);
  v1::ForgetResponse response;
  return stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Nodes/Forget", request, &response);
  });
}

// -------------------------------------------------------------------------------------- cluster

absl::StatusOr<v1::GetStatusResponse> Client::GetStatus() {
  v1::GetStatusResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Cluster/GetStatus", v1::GetStatusRequest(), &response);
  }));
  return response;
}

absl::Status Client::ListEvents(v1::ListEventsRequest request, Sink<v1::ListEventsResponse> sink) {
  return stubs_->connection->Resume([&](wire::Caller caller) {
    return ReadAll<v1::ListEventsResponse>(caller, "/hpc.v1.Cluster/ListEvents", request,
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
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Cluster/Why", request, &response);
  }));
  return response;
}

absl::Status Client::Backup(const v1::BackupRequest& request,
                            absl::FunctionRef<absl::Status(const v1::BackupPiece&)> sink) {
  absl::Status refused;
  const absl::Status status = stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Stream<v1::BackupPiece>("/hpc.v1.Cluster/Backup", request,
                                          [&](const v1::BackupPiece& piece) {
                                            refused = sink(piece);
                                            return refused;
                                          });
  });
  return refused.ok() ? status : refused;
}

// ---------------------------------------------------------------------------------------- trust

absl::StatusOr<v1::CreateTokenResponse> Client::CreateToken(const v1::CreateTokenRequest& request) {
  v1::CreateTokenResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Trust/CreateToken", request, &response);
  }));
  return response;
}

absl::StatusOr<v1::ListTokensResponse> Client::ListTokens() {
  v1::ListTokensResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Trust/ListTokens", v1::ListTokensRequest(), &response);
  }));
  return response;
}

absl::Status Client::RevokeToken(const std::string& id) {
  v1::RevokeTokenRequest request;
  request.set_id(id);
  v1::RevokeTokenResponse response;
  return stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Trust/RevokeToken", request, &response);
  });
}

absl::StatusOr<v1::ListCertificatesResponse> Client::ListCertificates(bool all) {
  v1::ListCertificatesRequest request;
  request.set_all(all);
  v1::ListCertificatesResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Trust/ListCertificates", request, &response);
  }));
  return response;
}

absl::StatusOr<v1::RevokeCertificateResponse> Client::RevokeCertificate(const std::string& subject,
                                                                        const std::string& reason) {
  v1::RevokeCertificateRequest request;
  request.set_subject(subject);
  request.set_reason(reason);
  v1::RevokeCertificateResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Trust/RevokeCertificate", request, &response);
  }));
  return response;
}

absl::StatusOr<v1::RotateAuthorityResponse> Client::RotateAuthority(absl::Duration keep_old) {
  v1::RotateAuthorityRequest request;
  request.set_keep_old_s(absl::ToInt64Seconds(keep_old));
  v1::RotateAuthorityResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Trust/RotateAuthority", request, &response);
  }));
  return response;
}

absl::StatusOr<v1::WhoAmIResponse> Client::WhoAmI() {
  v1::WhoAmIResponse response;
  HPC_RETURN_IF_ERROR(stubs_->connection->Once([&](wire::Caller caller) {
    return caller.Unary("/hpc.v1.Trust/WhoAmI", v1::WhoAmIRequest(), &response);
  }));
  return response;
}

std::optional<pki::Membership> Client::Renewed(const pki::Membership& membership, absl::Time now) {
  if (!stubs_->holder) return std::nullopt;
  if (!pki::DueForRenewal(*stubs_->holder, now) &&
      member::KnowsAll(membership, stubs_->connection->shown())) {
    return std::nullopt;
  }
  auto renewed = member::Renew(membership, endpoint(), kRenewalTime);
  if (!renewed.ok()) return std::nullopt;
  return *std::move(renewed);
}

}  // namespace hpc::client
