"""A program that does without gRPC's library has nothing of it, neither in itself nor beside itself.

Run by CTest; takes the program as its argument.
"""

import pathlib
import sys

# The namespace of gRPC's own code, and the name of its shared library.
FOUND = [name for name in (b"grpc_core", b"libgrpc") if name in pathlib.Path(sys.argv[1]).read_bytes()]

if FOUND:
    sys.exit(f"{sys.argv[1]} has {b', '.join(FOUND).decode()} in it: something that it links uses gRPC")
