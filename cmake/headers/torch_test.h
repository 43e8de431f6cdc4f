#pragma once

// The headers that most test programs of train/ include, compiled once (HPC_PCH). A file must still
// include what it uses, since it must also compile without this header.
#include <torch/torch.h>

#include "cmake/headers/test.h"
