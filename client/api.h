// The coordinator's services as plain calls.
//
// Errors are the coordinator's own (proto/hpc/v1 names them for each call), Unavailable when it
// cannot be reached, Cancelled after Interrupt. Calls that wait (Follow, Wait, ListEvents) and
// calls that may safely be repeated (Submit, Cancel, Change, the streams that read from a position)
// outlast a restart of the coordinator: they go on where they were, so that nothing is lost or seen
// twice.
#ifndef HPC_CLIENT_API_H_
#define HPC_CLIENT_API_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/discovery.h"
#include "common/net/endpoint.h"
#include "common/pki/membership.h"
#include "hpc/v1/nodes.pb.h"
#include "hpc/v1/runs.pb.h"
#include "hpc/v1/trust.pb.h"

namespace hpc::client {

// Thread-safe.
class Client {
 public:
  // Connects to the first of the endpoints that answers. UnreachableError: none does.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const Way& way);
  ~Client();

  const Endpoint& endpoint() const;

  // `notice` is called once at the beginning of each outage that a call waits out.
  void OnAway(std::function<void()> notice);
  // Ends the calls in progress and all later ones. It is meant for another thread.
  void Interrupt();

  template <typename T>
  using Sink = absl::FunctionRef<void(const T&)>;

  // Returns the new run's number, once the run is on disk.
  absl::StatusOr<int64_t> Submit(const v1::RunSpec& spec);
  // Submits many runs on one stream. `next` is called on a thread of its own until it returns
  // nullopt, and may wait for input. `answered` gets one answer for each submission, in order.
  // After an interruption, submissions without an answer are sent again under the same request ids.
  absl::Status SubmitMany(std::function<std::optional<v1::RunSpec>()> next,
                          Sink<v1::SubmitManyResponse> answered);
  // `interrupt`: somebody has typed Ctrl-C.
  absl::Status Cancel(int64_t run, bool interrupt);

  // Holds or releases a queued run, or changes what it asks for.
  absl::StatusOr<v1::ChangeResponse> Change(const v1::ChangeRequest& request);

  absl::StatusOr<v1::RunDetail> GetRun(int64_t run);
  absl::Status ListRuns(const v1::ListRunsRequest& request, Sink<v1::ListRunsResponse> sink);
  absl::StatusOr<v1::ListExperimentsResponse> ListExperiments();

  // Returns when the run is over and all of its output has come. `request` gives the first cursors.
  // An error of `sink` ends the call.
  absl::Status Follow(v1::FollowRequest request,
                      absl::FunctionRef<absl::Status(const v1::FollowResponse&)> sink);
  // Returns when all of `runs` are over. Each end is reported once.
  absl::Status Wait(std::vector<int64_t> runs, Sink<v1::WaitResponse> sink);
  absl::Status ReadLog(v1::ReadLogRequest request, Sink<v1::LogPiece> sink);
  absl::Status ListMetrics(v1::ListMetricsRequest request, Sink<v1::ListMetricsResponse> sink);

  absl::StatusOr<v1::ListNodesResponse> ListNodes();
  absl::Status Reclaim(const v1::ReclaimRequest& request);
  absl::Status Lend(const std::string& node);
  absl::StatusOr<v1::SleepResponse> Sleep(const std::string& node);
  absl::Status Wake(const std::string& node);
  absl::Status Forget(const std::string& node);

  absl::StatusOr<v1::GetStatusResponse> GetStatus();
  // Never ends by itself if the request says `follow`.
  absl::Status ListEvents(v1::ListEventsRequest request, Sink<v1::ListEventsResponse> sink);
  absl::StatusOr<v1::WhyResponse> Why(const std::string& subject);
  // An error of `sink` ends the call and is returned.
  absl::Status Backup(const v1::BackupRequest& request,
                      absl::FunctionRef<absl::Status(const v1::BackupPiece&)> sink);

  absl::StatusOr<v1::CreateTokenResponse> CreateToken(const v1::CreateTokenRequest& request);
  absl::StatusOr<v1::ListTokensResponse> ListTokens();
  absl::Status RevokeToken(const std::string& id);
  absl::StatusOr<v1::ListCertificatesResponse> ListCertificates(bool all);
  absl::StatusOr<v1::RevokeCertificateResponse> RevokeCertificate(const std::string& subject,
                                                                  const std::string& reason);
  absl::StatusOr<v1::RotateAuthorityResponse> RotateAuthority(absl::Duration keep_old);
  absl::StatusOr<v1::WhoAmIResponse> WhoAmI();

  // Returns `membership`, which this client was connected with, renewed. Returns nullopt if it is
  // not due at `now` and the coordinator has shown no new authority, or if renewal took too long.
  std::optional<pki::Membership> Renewed(const pki::Membership& membership, absl::Time now);

 private:
  struct Stubs;
  explicit Client(std::unique_ptr<Stubs> stubs);
  std::unique_ptr<Stubs> stubs_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_API_H_
