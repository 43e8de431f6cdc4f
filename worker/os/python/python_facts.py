# Prints what this interpreter has installed, one fact a line, without importing any of it. The
# worker runs it with `python -c`. It must run on any Python, so it avoids modern syntax.
import os
import re
import site
import sys


def say(*words):
    print("\t".join(("hpc-worker",) + words))


def read_version_py(folder):
    """The string assignments of torch/version.py: __version__, cuda, hip."""
    with open(os.path.join(folder, "version.py")) as file:
        return dict(re.findall(r"^(\w+)\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", file.read(), re.M))


def read_only_data(elf):
    """Start and end of the .rodata section of a 64-bit ELF file."""
    import struct

    table, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    sections = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    for section in sections:
        name = sections[names][4] + section[0]
        if elf[name : name + 8] == b".rodata\0":
            return section[4], section[4] + section[5]
    return 0, len(elf)


def built_with_libuv(folder):
    """Whether libtorch has the libuv back-end of the store: the name of its class is in there."""
    import glob
    import mmap

    places = [os.path.join(folder, "lib"), os.path.join(sys.prefix, "lib"), "/usr/lib/*"]
    found = [path for place in places for path in glob.glob(place + "/libtorch_cpu.so*")]
    if not found:
        return False
    with open(found[0], "rb") as file:
        elf = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start, end = read_only_data(elf)
        return elf.find(b"LibUVStoreDaemon", start, end) >= 0


def say_torch(folder):
    versions = read_version_py(folder)
    version = versions["__version__"]
    say("fact", "torch", version)
    for name, key in (("cuda", "cuda"), ("rocm", "hip")):
        if key in versions:
            say("fact", name, versions[key])
    for entry in sorted(os.listdir(os.path.dirname(folder))):
        nccl = re.match(r"nvidia_nccl_cu\d+-([^-]+)\.dist-info$", entry)
        if nccl:
            say("fact", "nccl", nccl.group(1))
    # From version 2.4 on, a client of a store asks for libuv, whether it uses it or not.
    needs_libuv = [int(n) for n in re.findall(r"\d+", version)[:2]] >= [2, 4]
    say("store-client", "no" if needs_libuv and not built_with_libuv(folder) else "yes")
    say("watch", os.path.join(folder, "version.py"))


def main():
    say("fact", "python", "%d.%d.%d" % sys.version_info[:3])
    packages = [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]
    if site.ENABLE_USER_SITE and site.USER_SITE not in packages:
        packages.append(site.USER_SITE)  # does not exist yet, but may
    for folder in packages:
        say("watch", folder)
    try:
        from importlib import metadata, util
    except ImportError:  # before Python 3.8, on which no PyTorch of recent years runs
        return
    torch = util.find_spec("torch")
    if torch and torch.origin:
        say_torch(os.path.dirname(torch.origin))
    for name in ("numpy", "torchvision", "lightning", "pytorch-lightning", "deepspeed",
                 "accelerate", "transformers"):
        try:
            say("fact", name, metadata.version(name))
        except metadata.PackageNotFoundError:
            pass


main()
