"""The layers of the source: a forbidden include fails here, with its reason.

So does a circle of folders, which is no layers at all, and a folder that holds more than one can
look over. Run by CTest; takes the repository's root as its argument.
"""

import collections
import pathlib
import re
import sys

PURE = "cores are deterministic: time, files, threads and wires are arguments or effects"

# Tests are checked, too: a core's test needs no I/O. Two files are exempt: one reports what
# deciding costs, and one draws accidents from a printed seed.
EXEMPT = {"coordinator/core/stories/scale_test.cc", "coordinator/core/testing/random_world.h"}
UNITS = "it takes 17 s to compile: include what is used; tests and programs may"
UNITS_MAY = re.compile(r"_(test|testing|main)\.(h|cc)$")
GRPC = r"^grpc|\.grpc\.pb\.h$"
TESTS = re.compile(r"_test\.cc$|^testing\.(h|cc)$|^fake_services\.h$")
CALLS = "gRPC stays in rpc/calls and rpc/doors"
SMALL = "the supervisor is small and static"
FOR_TESTS = re.compile(r"_(test|fuzz)\.cc$|/testing/")
ONLY_TRAIN = [
    (folder, r"^(train|torch|ATen|c10)/", "LibTorch is for train/ alone")
    for folder in ("client", "common", "coordinator", "member", "tests", "worker")
]
# Each rule is (folder, forbidden include pattern, reason), and perhaps a pattern of files that may.
RULES = ONLY_TRAIN + [
    ("coordinator/core", r"grpc|google/protobuf|hpc/v1/|\.pb\.h", PURE),
    ("coordinator/core", r"sqlite3|nlohmann|spdlog|toml\+\+", PURE),
    ("coordinator/core", r"^(thread|mutex|chrono|random|fstream|iostream|future|atomic)$", PURE),
    ("coordinator/core", r"^(sys/|unistd\.h|fcntl\.h|signal\.h|time\.h|stdio\.h|pthread\.h)", PURE),
    ("coordinator/core", r"absl/(synchronization|time/clock|random)", PURE),
    ("coordinator/core", r"^common/((files|net|pki|process)/|unique_fd\.h)", PURE),
    ("coordinator/core", r"^coordinator/(?!core/)", "the core is below its shells"),
    ("worker/core", r"grpc|google/protobuf|hpc/v1/|\.pb\.h", PURE),
    ("worker/core", r"sqlite3|spdlog|toml\+\+", PURE),
    ("worker/core", r"^(thread|mutex|chrono|random|fstream|iostream|future|atomic)$", PURE),
    ("worker/core", r"^(sys/|unistd\.h|fcntl\.h|signal\.h|time\.h|stdio\.h|pthread\.h)", PURE),
    ("worker/core", r"absl/(synchronization|time/clock|random)", PURE),
    ("worker/core", r"^common/((files|net|pki|process)/|unique_fd\.h)", PURE),
    ("worker/core", r"^worker/(?!core/)", "the core is below its shells"),
    ("protocol", r"^(?!common/(?!(files|net|pki|process)/)|protocol/|absl/).*/", PURE),
    ("protocol", r"^(thread|mutex|chrono|random|fstream|iostream|future|atomic|unistd\.h)$", PURE),
    ("coordinator", r"^worker/", "daemons share protocol/, the wire and common/, nothing else"),
    ("worker", r"^coordinator/", "daemons share protocol/, the wire and common/, nothing else"),
    ("client", r"^(worker|coordinator)/", "the client speaks the public protocol only"),
    ("client", GRPC, "hpcctl calls by member/http2: gRPC takes as long to begin as a command does", TESTS),
    ("member", GRPC, "hpcctl joins and renews with it, and has no gRPC", TESTS),
    ("member/http2", r"^hpc/v1/|^member/(?!http2/|security\.h)", "calls know nothing of what is called",
     TESTS),
    ("member", r"^(worker|coordinator|client)/", "member/ is what the worker and the client share"),
    ("common", r"^(worker|coordinator|client|member|protocol)/|grpc|protobuf",
     "common/ is below everything"),
    ("train", r"^(worker|coordinator|client|member|tests|proto|hpc/v1)/", "train/ needs common/ alone"),
    ("train", r"grpc|google/protobuf|\.pb\.h", "LibTorch's protobuf is another one than gRPC's"),
    ("train", r"^torch/(torch|all)\.h$", UNITS, UNITS_MAY),
    ("coordinator/store", r"grpc|google/protobuf|hpc/v1/", "the store keeps plain records"),
    ("coordinator/runtime", r"grpc|google/protobuf|hpc/v1/", "gRPC stays in rpc/"),
    ("tests/sim", r"grpc|google/protobuf|hpc/v1/|^coordinator/(?!core/)", "it has no I/O"),
    ("tests/sim", r"^worker/(?!core/)", "it stands in for the shells"),
    ("tests/sim", r"^(random|chrono)$|absl/(random|time/clock)", "a seed decides everything"),
    ("coordinator/rpc/answers", r"^grpc|\.grpc\.pb\.h", CALLS),
    ("coordinator/rpc/convert", r"^grpc|\.grpc\.pb\.h", CALLS),
    ("coordinator/rpc/handlers", r"^grpc|\.grpc\.pb\.h", CALLS),
    ("worker", r"^grpc|\.grpc\.pb\.h", "gRPC stays in worker/link", re.compile(r"^worker/link/")),
    ("worker/supervisor", r"absl/|grpc|google/protobuf", SMALL, FOR_TESTS),
    ("worker/supervisor", r"^(common/(?!unique_fd\.h)|member/)", SMALL, FOR_TESTS),
    ("worker/supervisor", r"^worker/(?!supervisor/|loop/boot_time\.h)", SMALL, FOR_TESTS),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

PRODUCT = ("client", "common", "coordinator", "member", "protocol", "train", "worker")
MOST_FILES = 30  # product files in one folder


def sources(base):
    return [path for path in sorted(base.rglob("*")) if path.suffix in (".h", ".cc")]


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


def violations(root):
    for folder, pattern, reason, *may in RULES:
        forbidden = re.compile(pattern)
        held = [path for path in sources(root / folder)
                if str(path.relative_to(root)) not in EXEMPT
                and not (may and (may[0].search(path.name)
                                  or may[0].search(str(path.relative_to(root)))))]
        if not held:
            yield (f"layering_test: no file of {folder}/ is held to '{pattern}': "
                   "that rule guards nothing")
        for path in held:
            for number, included in includes(path):
                if forbidden.search(included):
                    yield f"{path.relative_to(root)}:{number}: includes {included}: {reason}"
    for path in sorted(EXEMPT):
        if not (root / path).exists():
            yield f"layering_test: {path} is gone, and still exempt"


def product(root):
    """The files of each folder, without tests and what only tests use."""
    files = collections.defaultdict(list)
    for top in PRODUCT:
        for path in sources(root / top):
            name = str(path.relative_to(root))
            if not FOR_TESTS.search(name) and path.stem != "testing":
                files[str(path.parent.relative_to(root))].append(path)
    return files


def circles(graph):
    """The sets of folders that reach one another (Tarjan's strongly connected components)."""
    number, low, stack, found = {}, {}, [], []

    def visit(folder):
        number[folder] = low[folder] = len(number)
        stack.append(folder)
        for other in sorted(graph.get(folder, ())):
            if other not in number:
                visit(other)
                low[folder] = min(low[folder], low[other])
            elif other in stack:
                low[folder] = min(low[folder], number[other])
        if low[folder] == number[folder]:
            part = stack[stack.index(folder):]
            del stack[stack.index(folder):]
            if len(part) > 1:
                found.append(sorted(part))

    for folder in sorted(graph):
        if folder not in number:
            visit(folder)
    return found


def tangles(root):
    files = product(root)
    graph, why = collections.defaultdict(set), {}
    for folder, paths in files.items():
        if len(paths) > MOST_FILES:
            yield (f"{folder}/ holds {len(paths)} files beside its tests: at most {MOST_FILES} can "
                   "be looked over; divide it by what knows what")
        for path in paths:
            for number, included in includes(path):
                other = str(pathlib.PurePath(included).parent)
                if other != folder and other in files:
                    graph[folder].add(other)
                    why.setdefault((folder, other), f"{path.relative_to(root)}:{number}")
    for part in circles(graph):
        edges = [f"  {a} -> {b} ({where})" for (a, b), where in sorted(why.items())
                 if a in part and b in part]
        yield "these folders know one another in a circle:\n" + "\n".join(edges)


PATH = re.compile(r"`((?:client|common|coordinator|member|protocol|train|worker|tests)/[\w/]+\.(?:cc|h|py))`")


def lost_paths(root):
    """Files that a document names and nobody has."""
    for document in sorted([root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")]):
        for number, line in enumerate(document.read_text().splitlines(), 1):
            for path in PATH.findall(line):
                if not (root / path).exists():
                    yield f"{document.relative_to(root)}:{number}: there is no {path}"


def main():
    root = pathlib.Path(sys.argv[1])
    found = list(violations(root)) + list(tangles(root)) + list(lost_paths(root))
    print("\n".join(found) or "every include keeps to its layer, and no folders go in a circle")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
