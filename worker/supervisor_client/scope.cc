#include "worker/supervisor_client/scope.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"

namespace hpc::worker {
namespace {

constexpr char kSlice[] = "hpc.slice";

struct BusError {
  const char* name;
  const char* message;
  int need_free;
};

// The few functions of sd-bus that are used, with the types of <systemd/sd-bus.h>.
struct SdBus {
  using Handler = int (*)(sd_bus_message*, void*, void*);
  int (*open_system)(sd_bus**);
  int (*open_user)(sd_bus**);
  int (*call_method_async)(sd_bus*, void** slot, const char* destination, const char* path,
                           const char* interface, const char* member, Handler, void* userdata,
                           const char* types, ...);
  int (*get_fd)(sd_bus*);
  int (*get_events)(sd_bus*);
  int (*process)(sd_bus*, sd_bus_message**);
  sd_bus* (*close_unref)(sd_bus*);
  int (*is_method_error)(sd_bus_message*, const char*);
  const BusError* (*get_error)(sd_bus_message*);
  bool complete = false;
};

SdBus LoadSdBus() {
  SdBus bus{};
  void* library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return bus;
  bus.complete = true;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) bus.complete = false;
  };
  load(bus.open_system, "sd_bus_open_system");
  load(bus.open_user, "sd_bus_open_user");
  load(bus.call_method_async, "sd_bus_call_method_async");
  load(bus.get_fd, "sd_bus_get_fd");
  load(bus.get_events, "sd_bus_get_events");
  load(bus.process, "sd_bus_process");
  load(bus.close_unref, "sd_bus_close_unref");
  load(bus.is_method_error, "sd_bus_message_is_method_error");
  load(bus.get_error, "sd_bus_message_get_error");
  return bus;
}

const SdBus& Bus() {
  static const SdBus bus = LoadSdBus();
  return bus;
}

uint32_t EpollEvents(int poll_events) {
  return ((poll_events & POLLIN) != 0 ? uint32_t{EPOLLIN} : 0) |
         ((poll_events & POLLOUT) != 0 ? uint32_t{EPOLLOUT} : 0);
}

}  // namespace

bool ScopeRequest::Possible() {
  // This is the test that sd_booted(3) makes.
  return access("/run/systemd/system", F_OK) == 0 && Bus().complete;
}

std::unique_ptr<ScopeRequest> ScopeRequest::Start(EventLoop* loop, int64_t pid,
                                                  const std::string& unit, OnAnswer on_answer) {
  sd_bus* bus = nullptr;
  if ((geteuid() == 0 ? Bus().open_system : Bus().open_user)(&bus) < 0) return nullptr;
  // make_unique cannot be used, since the constructor is private.
  std::unique_ptr<ScopeRequest> request(new ScopeRequest(loop, bus, std::move(on_answer)));
  if (request->Call(pid, unit) < 0) return nullptr;
  return request;
}

ScopeRequest::ScopeRequest(EventLoop* loop, sd_bus* bus, OnAnswer on_answer)
    : loop_(loop), bus_(bus), on_answer_(std::move(on_answer)) {
  loop_->Add(Bus().get_fd(bus_), EpollEvents(Bus().get_events(bus_)),
             [this](uint32_t) { Process(); });
}

ScopeRequest::~ScopeRequest() { Close(); }

int ScopeRequest::Call(int64_t pid, const std::string& unit) {
  const std::string description =
      absl::StrCat("ranks of hpcctl attempts, one after the other (", unit, ")");
  const int result = Bus().call_method_async(
      bus_, nullptr, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
      "org.freedesktop.systemd1.Manager", "StartTransientUnit", OnReply, this, "ssa(sv)a(sa(sv))",
      unit.c_str(), "fail", 5,                      //
      "PIDs", "au", 1, static_cast<uint32_t>(pid),  //
      "Delegate", "b", 1,                           //
      "Slice", "s", kSlice,                         //
      "Description", "s", description.c_str(),      //
      "CollectMode", "s", "inactive-or-failed", 0);
  if (result >= 0) loop_->Modify(Bus().get_fd(bus_), EpollEvents(Bus().get_events(bus_)));
  return result;
}

int ScopeRequest::OnReply(sd_bus_message* reply, void* self, void*) {
  auto* request = static_cast<ScopeRequest*>(self);
  if (Bus().is_method_error(reply, nullptr) > 0) {
    const BusError* error = Bus().get_error(reply);
    request->answer_ = absl::FailedPreconditionError(
        absl::StrCat("systemd refused a scope: ", error->message ? error->message : error->name));
  } else {
    request->answer_ = absl::OkStatus();
  }
  return 0;
}

void ScopeRequest::Process() {
  int result;
  do {
    result = Bus().process(bus_, nullptr);
  } while (result > 0 && !answer_);
  if (result < 0 && !answer_) answer_ = ErrnoStatus(-result, "ask systemd for a scope");
  if (!answer_) {
    loop_->Modify(Bus().get_fd(bus_), EpollEvents(Bus().get_events(bus_)));
    return;
  }
  Close();
  on_answer_(*answer_);
}

void ScopeRequest::Close() {
  if (bus_ == nullptr) return;
  loop_->Remove(Bus().get_fd(bus_));
  Bus().close_unref(std::exchange(bus_, nullptr));
}

}  // namespace hpc::worker
