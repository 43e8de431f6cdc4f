// gRPC with those of its parts that a cluster uses. It begins by registering all that it has: load
// balancers, resolvers and filters for service meshes, which nothing here can ask for. They were a
// fifth of every program's code, and each start touched a page of each of them.
//
// This takes the place of the function that does it (grpc_plugin_registry.cc, gRPC 1.51); its parts
// come in the order of the original. With another version, or gRPC as a shared library, that one
// stays: nothing is lost but the time.
#include <grpcpp/version_info.h>

#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51

namespace grpc_core {

class CoreConfiguration {
 public:
  class Builder;
};
using Builder = CoreConfiguration::Builder;

}  // namespace grpc_core

namespace grpc_event_engine::experimental {

void RegisterEventEngineChannelArgPreconditioning(grpc_core::Builder*);

}  // namespace grpc_event_engine::experimental

namespace grpc_core {

void BuildClientChannelConfiguration(Builder*);
void RegisterAresDnsResolver(Builder*);
void RegisterBuiltins(Builder*);
void RegisterChannelIdleFilters(Builder*);
void RegisterClientAuthorityFilter(Builder*);
void RegisterDeadlineFilter(Builder*);
void RegisterHttpFilters(Builder*);
void RegisterMessageSizeFilter(Builder*);
void RegisterNativeDnsResolver(Builder*);
void RegisterPickFirstLbPolicy(Builder*);
void RegisterResourceQuota(Builder*);
void RegisterSecurityFilters(Builder*);
void RegisterServiceConfigChannelArgFilter(Builder*);
void RegisterSockaddrResolver(Builder*);
void RegisterTCPConnectHandshaker(Builder*);
void SecurityRegisterHandshakerFactories(Builder*);

void BuildCoreConfiguration(Builder* builder);

void BuildCoreConfiguration(Builder* builder) {
  grpc_event_engine::experimental::RegisterEventEngineChannelArgPreconditioning(builder);
  RegisterTCPConnectHandshaker(builder);
  RegisterPickFirstLbPolicy(builder);
  BuildClientChannelConfiguration(builder);
  SecurityRegisterHandshakerFactories(builder);
  RegisterClientAuthorityFilter(builder);
  RegisterChannelIdleFilters(builder);
  RegisterHttpFilters(builder);
  RegisterDeadlineFilter(builder);
  RegisterMessageSizeFilter(builder);
  RegisterServiceConfigChannelArgFilter(builder);
  RegisterResourceQuota(builder);
  RegisterAresDnsResolver(builder);
  RegisterNativeDnsResolver(builder);
  RegisterSockaddrResolver(builder);
  RegisterSecurityFilters(builder);
  RegisterBuiltins(builder);
}

}  // namespace grpc_core

#endif
