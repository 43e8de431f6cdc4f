#include "coordinator/rpc/no_tickets.h"

#include <openssl/bio.h>
#include <openssl/conf.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace hpc::coordinator {
namespace {

using OpensslConfig = std::unique_ptr<CONF, decltype(&NCONF_free)>;

// "" where there is none.
std::string ConfigValue(const CONF* config, const char* section, const char* name) {
  const char* const value = NCONF_get_string(config, section, name);
  return value != nullptr ? value : "";
}

// The lines that every server and client of this machine starts with (config(5ssl)).
std::string MachineDefaults() {
  const std::unique_ptr<char, void (*)(char*)> file(CONF_get1_default_config_file(),
                                                    [](char* text) { OPENSSL_free(text); });
  const OpensslConfig config(NCONF_new(nullptr), &NCONF_free);
  if (file == nullptr || NCONF_load(config.get(), file.get(), nullptr) != 1) return "";
  const std::string all = ConfigValue(config.get(), nullptr, "openssl_conf");
  const std::string tls = ConfigValue(config.get(), all.c_str(), "ssl_conf");
  const std::string defaults = ConfigValue(config.get(), tls.c_str(), "system_default");
  std::string lines;
  STACK_OF(CONF_VALUE)* const values = NCONF_get_section(config.get(), defaults.c_str());
  for (int i = 0; values != nullptr && i < sk_CONF_VALUE_num(values); ++i) {
    const CONF_VALUE* const one = sk_CONF_VALUE_value(values, i);
    absl::StrAppend(&lines, one->name, " = ", one->value, "\n");
  }
  return lines;
}

}  // namespace

absl::Status SendNoTickets() {
  // The machine's own comes first, and not once more.
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, nullptr);
  const std::string text = absl::StrCat(
      "openssl_conf = all\n[all]\nssl_conf = tls\n[tls]\nsystem_default = defaults\n[defaults]\n",
      MachineDefaults(), "NumTickets = 0\n");
  const std::unique_ptr<BIO, int (*)(BIO*)> source(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
  const OpensslConfig config(NCONF_new(nullptr), &NCONF_free);
  const bool done = NCONF_load_bio(config.get(), source.get(), nullptr) == 1 &&
                    CONF_modules_load(config.get(), nullptr, 0) == 1;
  ERR_clear_error();
  return done ? absl::OkStatus()
              : absl::InternalError("OpenSSL does not take the setting that sends no tickets");
}

}  // namespace hpc::coordinator
