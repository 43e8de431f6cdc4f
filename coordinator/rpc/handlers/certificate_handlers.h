// Methods of the service Trust about the certificates that were given out, the authority that signs
// them, and the caller's own certificate.
#ifndef HPC_COORDINATOR_RPC_HANDLERS_CERTIFICATE_HANDLERS_H_
#define HPC_COORDINATOR_RPC_HANDLERS_CERTIFICATE_HANDLERS_H_

#include "coordinator/rpc/answers/reply.h"
#include "coordinator/rpc/doors/caller.h"
#include "coordinator/rpc/handlers/gate.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/trust/trust.h"
#include "hpc/v1/trust.pb.h"

namespace hpc::coordinator {

class CertificateHandlers {
 public:
  // `trust` may be null: then only WhoAmI answers.
  CertificateHandlers(Engine* engine, Trust* trust) : engine_(engine), trust_(trust) {}

  // `gate` ends the calls of a certificate that is revoked.
  void Serve(Gate* gate) { gate_ = gate; }

  void ListCertificates(const Caller& caller, const v1::ListCertificatesRequest& request,
                        Reply<v1::ListCertificatesResponse> reply);
  void RevokeCertificate(const Caller& caller, const v1::RevokeCertificateRequest& request,
                         Reply<v1::RevokeCertificateResponse> reply);
  void RotateAuthority(const Caller& caller, const v1::RotateAuthorityRequest& request,
                       Reply<v1::RotateAuthorityResponse> reply);
  void WhoAmI(const Caller& caller, const v1::WhoAmIRequest& request,
              Reply<v1::WhoAmIResponse> reply);

 private:
  Engine* const engine_;
  Trust* const trust_;
  Gate* gate_ = nullptr;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_HANDLERS_CERTIFICATE_HANDLERS_H_
