#include "coordinator/rpc/handlers/nodes_handlers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/convert_node.h"
#include "coordinator/rpc/convert/message_check.h"

namespace hpc::coordinator {
namespace {

template <typename Response>
std::function<void(absl::Status)> EmptyReply(Reply<Response> reply) {
  return [reply = std::move(reply)](const absl::Status& status) {
    if (status.ok()) {
      reply(Response());
    } else {
      reply(status);
    }
  };
}

}  // namespace

void NodesHandlers::List(const Caller&, const v1::ListNodesRequest&,
                         Reply<v1::ListNodesResponse> reply) {
  engine_->AfterCommit([this, reply] {
    v1::ListNodesResponse response;
    for (const Cluster::NodeView& view : engine_->cluster().Nodes(engine_->now())) {
      v1::Node* node = response.add_nodes();
      *node = ToProto(view);
      usage_->AddTo(node);
    }
    response.set_now_us(ToMicros(engine_->now().wall));
    reply(std::move(response));
  });
}

absl::Status NodesHandlers::CheckOwner(const Caller& caller, const std::string& node) const {
  if (!caller.own_only) return absl::OkStatus();
  for (const Cluster::NodeView& view : engine_->cluster().Nodes(engine_->now())) {
    if (view.record.name != node) continue;
    const std::vector<std::string>& owners = view.record.inventory.owners;
    if (std::find(owners.begin(), owners.end(), caller.user) != owners.end()) {
      return absl::OkStatus();
    }
    return absl::PermissionDeniedError(
        absl::StrCat(owners.empty() ? absl::StrCat(node, " names no owner")
                                    : absl::StrCat(node, " is of ", JoinWords(owners)),
                     "; you are ", caller.user, ". An admin may, and whoever sits at ", node,
                     " (hpc-worker reclaim). You are an owner with HPC_WORKER_OWNER=",
                     absl::StrJoin(owners, ","), owners.empty() ? "" : ",", caller.user,
                     " in /etc/default/hpc-worker there, after systemctl restart hpc-worker"));
  }
  return absl::OkStatus();  // there is no such node; the engine will say so
}

void NodesHandlers::Reclaim(const Caller& caller, const v1::ReclaimRequest& request,
                            Reply<v1::ReclaimResponse> reply) {
  if (absl::Status status = CheckReclaim(request); !status.ok()) return reply(status);
  if (absl::Status status = CheckOwner(caller, request.node()); !status.ok()) return reply(status);
  ReclaimRequest reclaim;
  if (request.for_ms() > 0) reclaim.duration = FromMillis(request.for_ms());
  reclaim.reason = request.reason();
  reclaim.who = WhoIs(caller);
  if (request.grace_ms() > 0) reclaim.grace = FromMillis(request.grace_ms());
  engine_->Reclaim(request.node(), reclaim, EmptyReply<v1::ReclaimResponse>(std::move(reply)));
}

void NodesHandlers::Lend(const Caller& caller, const v1::LendRequest& request,
                         Reply<v1::LendResponse> reply) {
  if (absl::Status status = CheckNodeName(request.node()); !status.ok()) return reply(status);
  if (absl::Status status = CheckOwner(caller, request.node()); !status.ok()) return reply(status);
  engine_->Lend(request.node(), WhoIs(caller), EmptyReply<v1::LendResponse>(std::move(reply)));
}

void NodesHandlers::Sleep(const Caller& caller, const v1::SleepRequest& request,
                          Reply<v1::SleepResponse> reply) {
  if (absl::Status status = CheckNodeName(request.node()); !status.ok()) return reply(status);
  if (absl::Status status = CheckOwner(caller, request.node()); !status.ok()) return reply(status);
  engine_->Sleep(request.node(), WhoIs(caller),
                 [reply = std::move(reply)](const absl::StatusOr<SleepAnswer>& answer) {
                   if (!answer.ok()) return reply(answer.status());
                   v1::SleepResponse response;
                   response.set_woken_for(answer->woken_for);
                   response.set_why_not_woken(answer->why_not_woken);
                   reply(std::move(response));
                 });
}

void NodesHandlers::Wake(const Caller& caller, const v1::WakeRequest& request,
                         Reply<v1::WakeResponse> reply) {
  if (absl::Status status = CheckNodeName(request.node()); !status.ok()) return reply(status);
  engine_->Wake(request.node(), WhoIs(caller), EmptyReply<v1::WakeResponse>(std::move(reply)));
}

void NodesHandlers::Forget(const Caller& caller, const v1::ForgetRequest& request,
                           Reply<v1::ForgetResponse> reply) {
  if (absl::Status status = CheckNodeName(request.node()); !status.ok()) return reply(status);
  engine_->Forget(request.node(), WhoIs(caller), EmptyReply<v1::ForgetResponse>(std::move(reply)));
}

}  // namespace hpc::coordinator
