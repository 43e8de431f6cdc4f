# LibTorch for train/, as the imported interface target hpc_dep_torch. Only with HPC_TRAIN. It comes
# from the torch wheel of HPC_PYTHON, or from an unpacked LibTorch in HPC_LIBTORCH.
#
# PyTorch's own find_package adds search paths of the machine that built it, looks for CUDA if its
# wheel was built with CUDA, and warns about things that are not needed. Only two folders of headers
# and two libraries are really needed.
option(HPC_TRAIN "Build the native training library (train/), which needs LibTorch" OFF)
if(NOT HPC_TRAIN)
  return()
endif()

set(HPC_TORCH_VERSION 2.13.0)  # train/ uses interfaces that change between releases
set(HPC_LIBTORCH "" CACHE PATH "Folder of an unpacked LibTorch; empty: the torch of HPC_PYTHON")
find_program(HPC_PYTHON NAMES python3)

if(HPC_LIBTORCH)
  set(HPC_TORCH_ROOT ${HPC_LIBTORCH})
  set(found "")
  if(EXISTS ${HPC_TORCH_ROOT}/build-version)
    file(STRINGS ${HPC_TORCH_ROOT}/build-version found LIMIT_COUNT 1)
  endif()
else()
  find_program(HPC_PYTHON_FOUND ${HPC_PYTHON} NO_CACHE)
  if(NOT HPC_PYTHON_FOUND)
    message(FATAL_ERROR "HPC_TRAIN: there is no Python ${HPC_PYTHON} (HPC_PYTHON): "
      "'sudo deploy/install.sh train' makes /usr/local/lib/hpcctl/venv, and deploy/python-env.sh one "
      "below your home, which it prints")
  endif()
  # Finds torch without importing it, since importing takes seconds.
  execute_process(
    COMMAND ${HPC_PYTHON} -c "import importlib.metadata as m, importlib.util as u
s = u.find_spec('torch')
print(s.submodule_search_locations[0] if s else '', m.version('torch') if s else '', sep=';')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE error RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "HPC_TRAIN: ${HPC_PYTHON} does not say where its torch is: ${error}")
  endif()
  list(GET found 0 HPC_TORCH_ROOT)
  list(GET found 1 found)
endif()
if(NOT EXISTS "${HPC_TORCH_ROOT}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "HPC_TRAIN needs LibTorch ${HPC_TORCH_VERSION}, and there is none in '${HPC_TORCH_ROOT}' "
    "(HPC_PYTHON=${HPC_PYTHON}, HPC_LIBTORCH=${HPC_LIBTORCH}). deploy/python-env.sh makes an environment "
    "with it and prints its folder: -DHPC_PYTHON=FOLDER/bin/python")
endif()
if(NOT found MATCHES "^${HPC_TORCH_VERSION}")
  message(FATAL_ERROR "HPC_TRAIN needs LibTorch ${HPC_TORCH_VERSION}; that in ${HPC_TORCH_ROOT} is '${found}'")
endif()

# Programs find LibTorch where it was when they were built. Under hpcctl another account must find
# it.
set(path ${HPC_TORCH_ROOT}/lib)
while(NOT path STREQUAL "/")
  execute_process(COMMAND find -H ${path} -maxdepth 0 ! -perm -o=x OUTPUT_VARIABLE closed ERROR_QUIET)
  if(closed)
    message(WARNING "HPC_TRAIN: the LibTorch in ${HPC_TORCH_ROOT} is below ${path}, which other accounts cannot "
      "enter: what is built with it does not start under hpcctl, as ranks are not root. For that: "
      "sudo deploy/install.sh train, then -DHPC_PYTHON=/usr/local/lib/hpcctl/venv/bin/python")
  endif()
  get_filename_component(path ${path} DIRECTORY)
endwhile()

# These are defined as in PyTorch's own build. Without them its headers declare nothing of c10d.
add_library(hpc_dep_torch INTERFACE)
target_compile_definitions(hpc_dep_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
target_include_directories(hpc_dep_torch SYSTEM INTERFACE
  ${HPC_TORCH_ROOT}/include ${HPC_TORCH_ROOT}/include/torch/csrc/api/include)
target_link_libraries(hpc_dep_torch INTERFACE
  ${HPC_TORCH_ROOT}/lib/libtorch_cpu.so ${HPC_TORCH_ROOT}/lib/libc10.so Threads::Threads)

# The wheel lacks Gloo's headers, which its ProcessGroupGloo.hpp includes. train/gloo_declarations.h
# declares what that header needs of them. The files made here have the names of Gloo's headers.
if(NOT EXISTS ${HPC_TORCH_ROOT}/include/gloo/context.h)
  set(HPC_GLOO_HEADERS ${CMAKE_BINARY_DIR}/gloo_headers)
  foreach(header algorithm common/error context rendezvous/store transport/device)
    file(CONFIGURE OUTPUT ${HPC_GLOO_HEADERS}/gloo/${header}.h
      CONTENT "#include \"train/gloo_declarations.h\"\n")
  endforeach()
  target_include_directories(hpc_dep_torch SYSTEM INTERFACE ${HPC_GLOO_HEADERS})
endif()
