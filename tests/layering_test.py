"""The layers of the source: a forbidden include fails here, with its reason.

Run by CTest; takes the repository's root as its argument.
"""

import pathlib
import re
import sys

PURE = "cores are deterministic: time, files, threads and wires are arguments or effects"

# (folder, forbidden include pattern, reason). Tests are held to it too: a core's test needs no I/O.
# Except one that reports what deciding costs, and one that draws accidents from a printed seed.
EXEMPT = {"coordinator/core/scale_test.cc", "coordinator/core/testing/random_world.h"}
UNITS = "it takes 17 s to compile: include what is used; tests and programs may"
UNITS_MAY = re.compile(r"_(test|testing|main)\.(h|cc)$")
GRPC = r"^grpc|\.grpc\.pb\.h$"
TESTS = re.compile(r"_test\.cc$|^testing\.(h|cc)$|^fake_services\.h$")
ONLY_TRAIN = [
    (folder, r"^(train|torch|ATen|c10)/", "LibTorch is for train/ alone")
    for folder in ("client", "common", "coordinator", "member", "tests", "worker")
]
RULES = ONLY_TRAIN + [
    ("coordinator/core", r"grpc|google/protobuf|hpc/v1/|\.pb\.h", PURE),
    ("coordinator/core", r"sqlite3|nlohmann|spdlog|toml\+\+", PURE),
    ("coordinator/core", r"^(thread|mutex|chrono|random|fstream|iostream|future|atomic)$", PURE),
    ("coordinator/core", r"^(sys/|unistd\.h|fcntl\.h|signal\.h|time\.h|stdio\.h|pthread\.h)", PURE),
    ("coordinator/core", r"absl/(synchronization|time/clock|random)", PURE),
    ("coordinator/core", r"^common/(files|state_dir|unique_fd|notify|log|toml_config)\.h", PURE),
    ("coordinator/core", r"^coordinator/(store|runtime|rpc)/", "the core is below its shells"),
    ("worker/core", r"grpc|google/protobuf|hpc/v1/|\.pb\.h", PURE),
    ("worker/core", r"sqlite3|spdlog|toml\+\+", PURE),
    ("worker/core", r"^(thread|mutex|chrono|random|fstream|iostream|future|atomic)$", PURE),
    ("worker/core", r"^(sys/|unistd\.h|fcntl\.h|signal\.h|time\.h|stdio\.h|pthread\.h)", PURE),
    ("worker/core", r"absl/(synchronization|time/clock|random)", PURE),
    ("worker/core", r"^common/(files|state_dir|unique_fd|notify|log|toml_config)\.h", PURE),
    ("worker/core", r"^worker/(runtime|store|supervisor)/(?!spec\.h)", "the core is below its shells"),
    ("coordinator", r"^worker/", "daemons share the wire and common/, nothing else"),
    ("worker", r"^coordinator/", "daemons share the wire and common/, nothing else"),
    ("client", r"^(worker|coordinator)/", "the client speaks the public protocol only"),
    ("client", GRPC, "hpcctl calls by member/wire: gRPC takes as long to begin as a command does", TESTS),
    ("member", GRPC, "hpcctl joins and renews with it, and has no gRPC", TESTS),
    ("member/wire", r"^hpc/v1/|^member/(?!wire/|security\.h)", "calls know nothing of what is called",
     TESTS),
    ("member", r"^(worker|coordinator|client)/", "member/ is what the worker and the client share"),
    ("common", r"^(worker|coordinator|client|member)/|grpc|protobuf", "common/ is below everything"),
    ("train", r"^(worker|coordinator|client|member|tests|proto|hpc/v1)/", "train/ needs common/ alone"),
    ("train", r"grpc|google/protobuf|\.pb\.h", "LibTorch's protobuf is another one than gRPC's"),
    ("train", r"^torch/(torch|all)\.h$", UNITS, UNITS_MAY),
    ("coordinator/store", r"grpc|google/protobuf|hpc/v1/", "the store keeps plain records"),
    ("coordinator/runtime", r"grpc|google/protobuf|hpc/v1/", "gRPC stays in rpc/"),
    ("tests/sim", r"grpc|google/protobuf|hpc/v1/|^coordinator/(store|runtime|rpc)/", "it has no I/O"),
    ("tests/sim", r"^worker/(runtime|store|supervisor|os)/", "it stands in for the shells"),
    ("tests/sim", r"^(random|chrono)$|absl/(random|time/clock)", "a seed decides everything"),
    ("worker/supervisor/main", r"absl/|grpc|google/protobuf", "the supervisor is small and static"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def violations(root):
    for folder, pattern, reason, *may in RULES:
        forbidden = re.compile(pattern)
        base = root / folder
        for path in sorted(base.rglob("*") if base.is_dir() else root.glob(folder + "*")):
            if path.suffix not in (".h", ".cc") or str(path.relative_to(root)) in EXEMPT:
                continue
            if may and may[0].search(path.name):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match and forbidden.search(match.group(1)):
                    yield f"{path.relative_to(root)}:{number}: includes {match.group(1)}: {reason}"


def main():
    root = pathlib.Path(sys.argv[1])
    for folder, *_ in RULES:
        if folder.count("/") < 2 and not (root / folder).is_dir():
            sys.exit(f"layering_test: {folder}/ is gone; its rules guard nothing")
    found = list(violations(root))
    print("\n".join(found) or "every include keeps to its layer")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
