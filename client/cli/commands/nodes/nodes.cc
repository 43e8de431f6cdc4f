// hpcctl nodes: list the PCs and what they are doing.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/forms/listing.h"
#include "client/cli/show/words.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

std::vector<Column> Columns() {
  return {{"name", "NODE"},       {"state", "STATE"},
          {"", "FREE"},           {"", "DEVICES"},
          {"cores", "CORES"},     {"memory_bytes", "MEMORY"},
          {"address", "ADDRESS"}, {"attempts", "RUNS"},
          {"last_seen", "SEEN"},  {"first_seen", ""},
          {"reclaimed", ""},      {"reclaimed_until", ""},
          {"free_devices", ""},   {"devices", ""},
          {"interfaces", ""},     {"disks", ""},
          {"hostname", ""},       {"os", ""},
          {"kernel", ""},         {"driver", ""},
          {"worker_version", ""}, {"can_wake_by_hook", ""},
          {"gpu_trouble", ""},    {"reason", "REASON"}};
}

// Returns "2 x RTX 4090", or "CPU".
std::string Model(const v1::Inventory& inventory) {
  if (inventory.devices().empty()) return "";
  const v1::Device& first = inventory.devices(0);
  const std::string name = first.kind() == v1::DEVICE_KIND_GPU ? first.name() : "CPU slot";
  return inventory.devices_size() == 1 ? name : absl::StrCat(inventory.devices_size(), " x ", name);
}

void Put(JsonWriter* json, absl::string_view key, absl::string_view value) {
  json->Key(key);
  json->String(value);
}

void Put(JsonWriter* json, absl::string_view key, int64_t value) {
  json->Key(key);
  json->Integer(value);
}

void WriteProcesses(const v1::DeviceUsage& usage, JsonWriter* json) {
  json->BeginArray();
  for (const v1::DeviceProcess& process : usage.processes()) {
    json->BeginObject();
    Put(json, "pid", process.pid());
    Put(json, "command", process.command());
    Put(json, "memory_bytes", process.memory_bytes());
    json->Key("graphics");
    json->Bool(process.graphics());
    json->EndObject();
  }
  json->EndArray();
}

void WriteUsage(const v1::Node& node, int index, JsonWriter* json) {
  const auto usage = std::find_if(node.usage().begin(), node.usage().end(),
                                  [&](const v1::DeviceUsage& u) { return u.index() == index; });
  if (usage == node.usage().end()) return;
  json->Key("utilisation_percent");
  if (usage->has_utilisation_percent()) {
    json->Integer(usage->utilisation_percent());
  } else {
    json->Null();
  }
  Put(json, "memory_used_bytes", usage->memory_used_bytes());
  json->Key("processes");
  WriteProcesses(*usage, json);
}

void WriteDevices(const v1::Node& node, JsonWriter* json) {
  json->BeginArray();
  for (const v1::Device& device : node.inventory().devices()) {
    json->BeginObject();
    Put(json, "index", device.index());
    Put(json, "kind", Word(device.kind()));
    Put(json, "name", device.name());
    Put(json, "uuid", device.uuid());
    Put(json, "memory_bytes", device.memory_bytes());
    Put(json, "pci_bus_id", device.pci_bus_id());
    WriteUsage(node, device.index(), json);
    json->EndObject();
  }
  json->EndArray();
}

void WriteInterfaces(const v1::Inventory& inventory, JsonWriter* json) {
  json->BeginArray();
  for (const v1::NetworkInterface& interface : inventory.interfaces()) {
    json->BeginObject();
    Put(json, "name", interface.name());
    Put(json, "address", interface.address());
    Put(json, "mac", interface.mac());
    Put(json, "speed_mbps", interface.speed_mbps());
    json->Key("wake_on_lan");
    if (interface.wake_on_lan() == v1::NetworkInterface::WAKE_ON_LAN_UNSPECIFIED) {
      json->Null();
    } else {
      json->Bool(interface.wake_on_lan() == v1::NetworkInterface::WAKE_ON_LAN_ON);
    }
    json->EndObject();
  }
  json->EndArray();
}

void WriteDisks(const v1::Inventory& inventory, JsonWriter* json) {
  json->BeginArray();
  for (const v1::Disk& disk : inventory.disks()) {
    json->BeginObject();
    Put(json, "mount", disk.mount());
    Put(json, "total_bytes", disk.total_bytes());
    Put(json, "free_bytes", disk.free_bytes());
    json->EndObject();
  }
  json->EndArray();
}

void AddRow(const v1::Node& node, Listing* listing) {
  const v1::Inventory& inventory = node.inventory();
  listing->Text(node.name())
      .Text(node.state(), ColourOfNode(node.state()))
      .TableOnly(absl::StrCat(node.free_devices_size(), "/", inventory.devices_size()))
      .TableOnly(Model(inventory))
      .Integer(inventory.cores())
      .Bytes(inventory.memory_bytes())
      .Text(node.address())
      .Items(node.attempts())
      .Time(node.last_seen_us())
      .Time(node.first_seen_us())
      .Bool(node.reclaimed())
      .Time(node.reclaimed_until_us())
      .Nested([&](JsonWriter* json) {
        json->BeginArray();
        for (const int device : node.free_devices()) json->Integer(device);
        json->EndArray();
      })
      .Nested([&](JsonWriter* json) { WriteDevices(node, json); })
      .Nested([&](JsonWriter* json) { WriteInterfaces(inventory, json); })
      .Nested([&](JsonWriter* json) { WriteDisks(inventory, json); })
      .Text(inventory.hostname())
      .Text(inventory.os())
      .Text(inventory.kernel())
      .Text(inventory.driver())
      .Text(inventory.worker_version())
      .Bool(inventory.can_wake_by_hook())
      .Text(inventory.gpu_trouble())
      .Text(node.reason())
      .EndRow();
}

class NodesCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details("FREE is how many devices a run may be given, of how many.");
    options->Flag("--json", &json_, "print JSON, with devices, interfaces and disks");
    options->Example("hpcctl nodes");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const v1::ListNodesResponse response, client->ListNodes());
    Listing listing(Columns(), FormFor(session->out(), json_, Session::NowUs(response.now_us())));
    for (const v1::Node& node : response.nodes()) AddRow(node, &listing);
    session->Print(&listing, "no nodes. 'hpcctl token create' says how a PC joins");
    return kExitOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeNodes() { return std::make_unique<NodesCommand>(); }

}  // namespace hpc::client
