#include "coordinator/rpc/methods.h"

#include <functional>
#include <utility>

#include "coordinator/rpc/calls/bidi_call.h"
#include "coordinator/rpc/calls/posted.h"
#include "coordinator/rpc/calls/reflection_stream.h"
#include "coordinator/rpc/calls/stream_call.h"
#include "coordinator/rpc/calls/submit_stream.h"
#include "coordinator/rpc/calls/unary_call.h"
#include "coordinator/rpc/calls/worker_stream.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "hpc/v1/nodes.grpc.pb.h"
#include "hpc/v1/runs.grpc.pb.h"
#include "hpc/v1/trust.grpc.pb.h"
#include "hpc/v1/worker.grpc.pb.h"

namespace hpc::coordinator {
namespace {

// The generated services, with every method accepted as bytes (message_bytes.h says why).
using R = v1::Runs;
using RawRuns = R::WithRawMethod_Submit<R::WithRawMethod_SubmitMany<
    R::WithRawMethod_Cancel<R::WithRawMethod_Change<R::WithRawMethod_Follow<
        R::WithRawMethod_Wait<R::WithRawMethod_List<R::WithRawMethod_Get<R::WithRawMethod_ReadLog<
            R::WithRawMethod_ListMetrics<R::WithRawMethod_ListExperiments<R::Service>>>>>>>>>>>;
using N = v1::Nodes;
using RawNodes = N::WithRawMethod_List<N::WithRawMethod_Reclaim<N::WithRawMethod_Lend<
    N::WithRawMethod_Sleep<N::WithRawMethod_Wake<N::WithRawMethod_Forget<N::Service>>>>>>;
using C = v1::Cluster;
using RawCluster = C::WithRawMethod_GetStatus<
    C::WithRawMethod_ListEvents<C::WithRawMethod_Why<C::WithRawMethod_Backup<C::Service>>>>;
using T = v1::Trust;
using RawTrust = T::WithRawMethod_Join<T::WithRawMethod_Renew<
    T::WithRawMethod_CreateToken<T::WithRawMethod_ListTokens<T::WithRawMethod_RevokeToken<
        T::WithRawMethod_ListCertificates<T::WithRawMethod_RevokeCertificate<
            T::WithRawMethod_RotateAuthority<T::WithRawMethod_WhoAmI<T::Service>>>>>>>>>;
using F = grpc::reflection::v1alpha::ServerReflection;
using RawReflection = F::WithRawMethod_ServerReflectionInfo<F::Service>;
using RawWorker = v1::Worker::WithRawMethod_Connect<v1::Worker::Service>;

// The rows of the table. `request` is the generated method that asks for the next call.
class Table {
 public:
  explicit Table(CallHost* host) : host_(host) {}

  template <typename Service, typename Request, typename Handlers, typename Handler>
  void Unary(const char* name, Service* service, Request request, Handlers* handlers,
             Handler handler) {
    auto method = std::make_shared<UnaryMethod>();
    method->name = name;
    method->accept = [service, request](grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                                        UnaryMethod::Writer* writer,
                                        grpc::ServerCompletionQueue* queue, void* tag) {
      (service->*request)(context, bytes, writer, queue, queue, tag);
    };
    method->handle = TypedUnary(handlers, handler);
    UnaryCall::Accept(host_, std::move(method));
  }

  template <typename Service, typename Request, typename Handlers, typename Handler>
  void Stream(const char* name, Service* service, Request request, Handlers* handlers,
              Handler handler) {
    auto method = std::make_shared<StreamMethod>();
    method->name = name;
    method->accept = [service, request](grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                                        StreamMethod::Writer* writer,
                                        grpc::ServerCompletionQueue* queue, void* tag) {
      (service->*request)(context, bytes, writer, queue, queue, tag);
    };
    method->open = TypedStream(handlers, handler);
    StreamCall::Accept(host_, std::move(method));
  }

  template <typename Service, typename Request>
  void Bidi(const char* name, Service* service, Request request, std::function<BidiCall*()> make) {
    auto method = std::make_shared<BidiMethod>();
    method->name = name;
    method->accept = [service, request](grpc::ServerContext* context, BidiMethod::Stream* stream,
                                        grpc::ServerCompletionQueue* queue, void* tag) {
      (service->*request)(context, stream, queue, queue, tag);
    };
    method->make = std::move(make);
    BidiCall::Accept(host_, std::move(method));
  }

 private:
  CallHost* const host_;
};

}  // namespace

struct Methods::Services {
  RawRuns runs;
  RawNodes nodes;
  RawCluster cluster;
  RawTrust trust;
  RawWorker worker;
  RawReflection reflection;
};

Methods::Methods(Engine* engine, Trust* trust, const MethodOptions& options)
    : engine_(engine),
      runs_(engine),
      nodes_(engine, &usage_),
      cluster_(engine, options.state_dir),
      joins_(engine, trust),
      tokens_(engine, trust, options.addresses),
      certificates_(engine, trust),
      services_(std::make_unique<Services>()) {}

Methods::~Methods() = default;

void Methods::Register(grpc::ServerBuilder* builder) {
  builder->RegisterService(&services_->runs);
  builder->RegisterService(&services_->nodes);
  builder->RegisterService(&services_->cluster);
  builder->RegisterService(&services_->trust);
  builder->RegisterService(&services_->worker);
  builder->RegisterService(&services_->reflection);
}

void Methods::Accept(CallHost* host) {
  Table table(host);
  RawRuns* const runs = &services_->runs;
  table.Unary("hpc.v1.Runs/Submit", runs, &RawRuns::RequestSubmit, &runs_, &RunsHandlers::Submit);
  table.Bidi("hpc.v1.Runs/SubmitMany", runs, &RawRuns::RequestSubmitMany,
             [this] { return new SubmitStream(engine_); });
  table.Unary("hpc.v1.Runs/Cancel", runs, &RawRuns::RequestCancel, &runs_, &RunsHandlers::Cancel);
  table.Unary("hpc.v1.Runs/Change", runs, &RawRuns::RequestChange, &runs_, &RunsHandlers::Change);
  table.Stream("hpc.v1.Runs/Follow", runs, &RawRuns::RequestFollow, &runs_, &RunsHandlers::Follow);
  table.Stream("hpc.v1.Runs/Wait", runs, &RawRuns::RequestWait, &runs_, &RunsHandlers::Wait);
  table.Stream("hpc.v1.Runs/List", runs, &RawRuns::RequestList, &runs_, &RunsHandlers::List);
  table.Unary("hpc.v1.Runs/Get", runs, &RawRuns::RequestGet, &runs_, &RunsHandlers::Get);
  table.Stream("hpc.v1.Runs/ReadLog", runs, &RawRuns::RequestReadLog, &runs_,
               &RunsHandlers::ReadLog);
  table.Stream("hpc.v1.Runs/ListMetrics", runs, &RawRuns::RequestListMetrics, &runs_,
               &RunsHandlers::ListMetrics);
  table.Unary("hpc.v1.Runs/ListExperiments", runs, &RawRuns::RequestListExperiments, &runs_,
              &RunsHandlers::ListExperiments);

  RawNodes* const nodes = &services_->nodes;
  table.Unary("hpc.v1.Nodes/List", nodes, &RawNodes::RequestList, &nodes_, &NodesHandlers::List);
  table.Unary("hpc.v1.Nodes/Reclaim", nodes, &RawNodes::RequestReclaim, &nodes_,
              &NodesHandlers::Reclaim);
  table.Unary("hpc.v1.Nodes/Lend", nodes, &RawNodes::RequestLend, &nodes_, &NodesHandlers::Lend);
  table.Unary("hpc.v1.Nodes/Sleep", nodes, &RawNodes::RequestSleep, &nodes_, &NodesHandlers::Sleep);
  table.Unary("hpc.v1.Nodes/Wake", nodes, &RawNodes::RequestWake, &nodes_, &NodesHandlers::Wake);
  table.Unary("hpc.v1.Nodes/Forget", nodes, &RawNodes::RequestForget, &nodes_,
              &NodesHandlers::Forget);

  RawCluster* const cluster = &services_->cluster;
  table.Unary("hpc.v1.Cluster/GetStatus", cluster, &RawCluster::RequestGetStatus, &cluster_,
              &ClusterHandlers::GetStatus);
  table.Stream("hpc.v1.Cluster/ListEvents", cluster, &RawCluster::RequestListEvents, &cluster_,
               &ClusterHandlers::ListEvents);
  table.Unary("hpc.v1.Cluster/Why", cluster, &RawCluster::RequestWhy, &cluster_,
              &ClusterHandlers::Why);
  cluster_.Serve([queue = host->queue](absl::Duration delay, std::function<void()> work) {
    Posted::To(queue, std::move(work), delay);
  });
  table.Stream("hpc.v1.Cluster/Backup", cluster, &RawCluster::RequestBackup, &cluster_,
               &ClusterHandlers::Backup);

  joins_.Serve(host);
  certificates_.Serve(host);
  RawTrust* const trust = &services_->trust;
  table.Unary("hpc.v1.Trust/Join", trust, &RawTrust::RequestJoin, &joins_, &JoinHandlers::Join);
  table.Unary("hpc.v1.Trust/Renew", trust, &RawTrust::RequestRenew, &joins_, &JoinHandlers::Renew);
  table.Unary("hpc.v1.Trust/CreateToken", trust, &RawTrust::RequestCreateToken, &tokens_,
              &TokenHandlers::CreateToken);
  table.Unary("hpc.v1.Trust/ListTokens", trust, &RawTrust::RequestListTokens, &tokens_,
              &TokenHandlers::ListTokens);
  table.Unary("hpc.v1.Trust/RevokeToken", trust, &RawTrust::RequestRevokeToken, &tokens_,
              &TokenHandlers::RevokeToken);
  table.Unary("hpc.v1.Trust/ListCertificates", trust, &RawTrust::RequestListCertificates,
              &certificates_, &CertificateHandlers::ListCertificates);
  table.Unary("hpc.v1.Trust/RevokeCertificate", trust, &RawTrust::RequestRevokeCertificate,
              &certificates_, &CertificateHandlers::RevokeCertificate);
  table.Unary("hpc.v1.Trust/RotateAuthority", trust, &RawTrust::RequestRotateAuthority,
              &certificates_, &CertificateHandlers::RotateAuthority);
  table.Unary("hpc.v1.Trust/WhoAmI", trust, &RawTrust::RequestWhoAmI, &certificates_,
              &CertificateHandlers::WhoAmI);

  table.Bidi("hpc.v1.Worker/Connect", &services_->worker, &RawWorker::RequestConnect,
             [this] { return new WorkerStream(engine_, &usage_); });
  table.Bidi("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
             &services_->reflection, &RawReflection::RequestServerReflectionInfo,
             [] { return new ReflectionStream(); });
}

}  // namespace hpc::coordinator
