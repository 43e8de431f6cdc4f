#pragma once

// The headers that most test programs include, compiled once (HPC_PCH). A file must still include
// what it uses, since it must also compile without this header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/headers/common.h"
