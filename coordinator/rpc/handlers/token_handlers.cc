#include "coordinator/rpc/handlers/token_handlers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/pki/join_token.h"
#include "common/pki/random.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/core/values/event_kinds.h"
#include "coordinator/rpc/convert/convert_common.h"

namespace hpc::coordinator {
namespace {

v1::Token ToProto(const TokenRecord& token, absl::Time now) {
  v1::Token out;
  out.set_id(token.id);
  out.set_role(std::string(pki::RoleName(token.role)));
  out.set_name(token.name);
  out.set_uses_left(token.uses_left);
  out.set_created_by(token.created_by);
  out.set_created_at_us(ToMicros(token.created_at));
  out.set_expires_at_us(ToMicros(token.expires_at));
  out.set_state(std::string(TokenState(token, now)));
  return out;
}

}  // namespace

TokenHandlers::TokenHandlers(Engine* engine, Trust* trust, std::vector<Endpoint> addresses)
    : engine_(engine), trust_(trust), addresses_(std::move(addresses)) {}

absl::StatusOr<std::string> TokenHandlers::MakeLine(pki::Role role, const std::string& secret,
                                                    const v1::CreateTokenRequest& request) const {
  pki::JoinToken line;
  line.role = role;
  line.secret = secret;
  line.authority_hash = trust_->keyring.AuthorityHash();
  line.addresses = addresses_;
  if (request.addresses_size() > 0) line.addresses.clear();
  for (const std::string& text : request.addresses()) {
    HPC_ASSIGN_OR_RETURN(Endpoint address, ParseEndpoint(text));
    if (address.is_unix || address.port == 0 || address.host == "0.0.0.0" || address.host == "::") {
      return absl::InvalidArgumentError(
          absl::StrCat(text, ": a token carries addresses that lead to the coordinator, as ",
                       "192.168.1.10:7077"));
    }
    line.addresses.push_back(std::move(address));
  }
  if (line.addresses.empty()) {
    return absl::FailedPreconditionError(
        "the coordinator listens for local users only: start it with --listen, or name an address "
        "that leads to it with --address");
  }
  if (line.addresses.size() > pki::kMaxTokenAddresses) {
    return absl::InvalidArgumentError(
        absl::StrCat("a token carries at most ", pki::kMaxTokenAddresses, " addresses"));
  }
  return pki::FormatJoinToken(line);
}

void TokenHandlers::CreateToken(const Caller& caller, const v1::CreateTokenRequest& request,
                                Reply<v1::CreateTokenResponse> reply) {
  if (absl::Status status = NeedTrust(trust_); !status.ok()) return reply(status);
  TokenRequest wanted;
  wanted.by = WhoIs(caller);
  wanted.name = request.name();
  if (request.uses() != 0) wanted.uses = request.uses();
  if (request.lifetime_s() != 0) wanted.lifetime = absl::Seconds(request.lifetime_s());
  if (!request.role().empty()) {
    const absl::StatusOr<pki::Role> role = pki::ParseRole(request.role());
    if (!role.ok()) return reply(role.status());
    wanted.role = *role;
  }
  const absl::StatusOr<std::string> secret = pki::RandomBytes(pki::kTokenSecretBytes);
  if (!secret.ok()) return reply(secret.status());
  const absl::StatusOr<std::string> line = MakeLine(wanted.role, *secret, request);
  if (!line.ok()) return reply(line.status());
  const absl::StatusOr<TokenRecord> token =
      trust_->roster.CreateToken(engine_->now().wall, wanted, *secret);
  if (!token.ok()) return reply(token.status());
  v1::CreateTokenResponse response;
  response.set_token(*line);
  response.set_id(token->id);
  response.set_expires_at_us(ToMicros(token->expires_at));
  engine_->RecordTrust(
      {*token},
      {event::kSecurityToken,
       absl::StrCat(wanted.by, " made the token ", token->id, " for ",
                    Count(token->uses_left, "use"), " as ", pki::RoleName(token->role),
                    token->name.empty() ? "" : " ", token->name)},
      [reply, response](const absl::Status& status) {
        if (!status.ok()) return reply(status);
        reply(response);
      });
}

void TokenHandlers::ListTokens(const Caller&, const v1::ListTokensRequest&,
                               Reply<v1::ListTokensResponse> reply) {
  if (absl::Status status = NeedTrust(trust_); !status.ok()) return reply(status);
  v1::ListTokensResponse response;
  for (const TokenRecord& token : trust_->roster.Tokens()) {
    *response.add_tokens() = ToProto(token, engine_->now().wall);
  }
  reply(response);
}

void TokenHandlers::RevokeToken(const Caller& caller, const v1::RevokeTokenRequest& request,
                                Reply<v1::RevokeTokenResponse> reply) {
  if (absl::Status status = NeedTrust(trust_); !status.ok()) return reply(status);
  const absl::StatusOr<TokenRecord> token = trust_->roster.RevokeToken(request.id());
  if (!token.ok()) return reply(token.status());
  engine_->RecordTrust(
      {*token},
      {event::kSecurityToken, absl::StrCat(WhoIs(caller), " revoked the token ", token->id)},
      [reply](const absl::Status& status) {
        if (!status.ok()) return reply(status);
        reply(v1::RevokeTokenResponse());
      });
}

}  // namespace hpc::coordinator
