// Serves a rendezvous store on a loopback address for the tests with torch's clients.
//   store_server_tool [ADDRESS]
// Prints the port, then a status for every line it reads on its input, and ends with its input.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "worker/rendezvous/store_server.h"

namespace hpc::worker {
namespace {

void PrintStatus(const StoreStatus& status) {
  for (const StoreStatus::Arrival& one : status.arrivals) {
    std::cout << "arrival " << one.address << " " << one.pid << "\n";
  }
  std::cout << "blocked_key " << status.blocked_key << "\n"
            << "waiting " << status.waiting << "\n"
            << "connections " << status.connections << "\n"
            << "refused " << status.refused << "\n"
            << "end" << std::endl;
}

int Serve(const std::string& address) {
  const RealClock clock;
  EventLoop loop(&clock);
  const auto server = StoreServer::Listen(&loop, {.address = address});
  if (!server.ok()) {
    std::cerr << server.status() << std::endl;
    return 1;
  }
  std::cout << (*server)->port() << std::endl;
  loop.Add(STDIN_FILENO, EPOLLIN, [&](uint32_t) {
    char bytes[256];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0) return loop.Stop();
    for (auto lines = std::count(bytes, bytes + n, '\n'); lines > 0; --lines) {
      PrintStatus((*server)->Status());
    }
  });
  loop.Run();
  return 0;
}

}  // namespace
}  // namespace hpc::worker

int main(int argc, char** argv) { return hpc::worker::Serve(argc > 1 ? argv[1] : "127.0.0.1"); }
