#include "train/tool/process_setup.h"

#include <c10/util/Flags.h>
#include <signal.h>

#include <cstdlib>

C10_DECLARE_int(caffe2_log_level);

namespace hpc::train {

void SetUpProcess() {
  constexpr int kFatal = 3;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = kFatal;
}

}  // namespace hpc::train
