#include "worker/runtime/control_server.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/files/files.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/unique_fd.h"
#include "worker/owner/control_request.h"
#include "worker/owner/control_socket.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

constexpr size_t kMaxRequest = 64 << 10;
constexpr size_t kMaxClients = 64;
constexpr absl::Duration kPause = absl::Milliseconds(500);  // when there are no descriptors

json Failure(absl::string_view error) { return {{"ok", false}, {"error", ToValidUtf8(error)}}; }

json Describe(const Engine& engine, Now now) {
  const Agent& agent = engine.agent();
  const Yield& yield = agent.yield();
  json out = {{"ok", true},
              {"node", engine.options().node},
              {"coordinator", engine.options().route->next().ToString()},
              {"connected", agent.connection().connected()},
              {"problem", ToValidUtf8(agent.connection().problem())},
              {"reclaimed", yield.reclaimed()},
              {"reason", ToValidUtf8(yield.state().reason)},
              {"attempts", json::array()}};
  // In whole seconds and rounded up, since nobody cares how long the answer itself took.
  if (const auto left = yield.Left(now)) {
    out["left_ms"] = absl::ToInt64Milliseconds(absl::Ceil(*left, absl::Seconds(1)));
  }
  if (const auto took = yield.last_return()) {
    out["last_return_ms"] = absl::ToInt64Milliseconds(*took);
  }
  for (const auto& [ref, attempt] : agent.attempts()) {
    if (!attempt.live()) continue;
    out["attempts"].push_back({{"attempt", ref.ToString()},
                               {"phase", Name(attempt.phase())},
                               {"ranks", attempt.running_ranks()},
                               {"devices", attempt.devices()}});
  }
  return out;
}

class Server : public ControlServer {
 public:
  Server(EventLoop* loop, UniqueFd listener, Engine* engine)
      : loop_(loop), listener_(std::move(listener)), engine_(engine) {
    loop_->Add(listener_.get(), EPOLLIN, [this](uint32_t) { Accept(); });
  }
  ~Server() override {
    *alive_ = false;
    loop_->Cancel(pause_);
    loop_->Remove(listener_.get());
    for (auto& [number, client] : clients_) loop_->Remove(client.fd.get());
  }

 private:
  struct Client {
    UniqueFd fd;
    std::string input;
    int32_t waits_for = 0;  // requests that are not fulfilled yet
  };

  void Accept() {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.ok() && (errno == EMFILE || errno == ENFILE)) return Pause();
    if (!fd.ok()) return;
    if (clients_.size() >= kMaxClients) DropOldest();
    const uint64_t number = next_++;
    loop_->Add(fd.get(), EPOLLIN, [this, number](uint32_t) { Read(number); });
    clients_[number].fd = std::move(fd);
  }

  // Stops accepting for a while. A client that waits at the door would wake us again and again in
  // vain.
  void Pause() {
    loop_->Modify(listener_.get(), 0);
    pause_ = loop_->At(loop_->clock().Get().mono + kPause,
                       [this] { loop_->Modify(listener_.get(), EPOLLIN); });
  }

  // A client that waits for nothing is dropped first. Whoever comes next may be the owner.
  void DropOldest() {
    const auto idle = std::find_if(clients_.begin(), clients_.end(),
                                   [](const auto& entry) { return entry.second.waits_for == 0; });
    Drop(idle != clients_.end() ? idle->first : clients_.begin()->first);
  }

  void Read(uint64_t number) {
    Client& client = clients_[number];
    char buffer[4096];
    const ssize_t n = read(client.fd.get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return Drop(number);
    client.input.append(buffer, static_cast<size_t>(n));
    for (;;) {
      const auto it = clients_.find(number);
      if (it == clients_.end()) return;
      const size_t end = it->second.input.find('\n');
      if (end == std::string::npos) break;
      const std::string line = it->second.input.substr(0, end);
      it->second.input.erase(0, end + 1);
      Handle(number, line);
    }
    if (client.input.size() > kMaxRequest) {
      Answer(number, Failure("the request is too long"));
      Drop(number);
    }
  }

  void Handle(uint64_t number, const std::string& line) {
    const auto request = ParseControlRequest(line);
    if (!request.ok()) return Answer(number, Failure(request.status().message()));
    switch (request->command) {
      case ControlCommand::kReclaim:
        return engine_->Reclaim(request->reclaim, AnswerLater(number, /*with_time=*/true));
      case ControlCommand::kLend:
        return engine_->Lend(AnswerLater(number, /*with_time=*/false));
      case ControlCommand::kStatus:
        Answer(number, Status());
    }
  }

  OnOwnerAnswer AnswerLater(uint64_t number, bool with_time) {
    ++clients_[number].waits_for;
    return [this, alive = alive_, number, with_time](const OwnerAnswer& outcome) {
      if (!*alive) return;
      const auto it = clients_.find(number);
      if (it == clients_.end()) return;
      --it->second.waits_for;
      json answer = Status();
      if (with_time) answer["took_ms"] = absl::ToInt64Milliseconds(outcome.took);
      answer["saved"] = outcome.saved;
      Answer(number, answer);
    };
  }

  json Status() const { return Describe(*engine_, loop_->clock().Get()); }

  // An answer is small. If it does not fit into the socket's buffer, the client does not read.
  void Answer(uint64_t number, const json& answer) {
    const auto it = clients_.find(number);
    if (it == clients_.end()) return;
    const std::string line = answer.dump() + "\n";
    const ssize_t n = send(it->second.fd.get(), line.data(), line.size(), MSG_NOSIGNAL);
    if (n != static_cast<ssize_t>(line.size())) Drop(number);
  }

  void Drop(uint64_t number) {
    const auto it = clients_.find(number);
    if (it == clients_.end()) return;
    loop_->Remove(it->second.fd.get());
    clients_.erase(it);
  }

  EventLoop* const loop_;
  const UniqueFd listener_;
  EventLoop::TimerId pause_ = 0;
  Engine* const engine_;
  uint64_t next_ = 1;
  std::map<uint64_t, Client> clients_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::Listen(EventLoop* loop,
                                                                     const std::string& state_dir,
                                                                     Engine* engine) {
  HPC_ASSIGN_OR_RETURN(UniqueFd listener, ListenOnControlSocket(state_dir));
  return std::make_unique<Server>(loop, std::move(listener), engine);
}

}  // namespace hpc::worker
