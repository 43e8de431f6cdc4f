"""Every message, field and call of proto/hpc/v1 says in a comment what it is.

A comment stands behind it on its line, or on the lines above it. Three things need none of their own:
a request or a response that is named after its call, an alternative of a oneof, which its message
describes, and `AttemptRef ref`, of which the head of worker.proto tells. Run by CTest; takes the
repository's root as its argument.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^\s*(message|enum|service|oneof)\s+(\w+)\s*\{(.*)")
FIELD = re.compile(r"^\s*(?:optional\s+|repeated\s+)?[\w.]+\s+(\w+)\s*=\s*\d+\s*[;\[]")
CALL = re.compile(r"^\s*rpc\s+(\w+)\s*\(\s*(?:stream\s+)?(\w+)\s*\)\s*returns\s*\(\s*(?:stream\s+)?(\w+)")


def undescribed(text):
    """(line, what) of each thing that has no comment."""
    found, open_blocks, of_calls = [], [], set()
    commented = False  # a comment stands on the lines above
    for number, line in enumerate(text.splitlines(), 1):
        code, _, behind = line.partition("//")
        if not code.strip():
            commented = bool(behind.strip()) or (commented and "//" in line)
            continue
        described = commented or bool(behind.strip())
        if block := BLOCK.match(code):
            kind, name, rest = block.groups()
            if kind == "message" and not described:
                found.append((number, name))
            if "}" not in rest:
                open_blocks.append((kind, name))
        elif call := CALL.match(code):
            of_calls.update(call.groups()[1:])
            if not described:
                found.append((number, f"{open_blocks[-1][1]}.{call[1]}"))
        elif field := FIELD.match(code):
            kinds = [kind for kind, _ in open_blocks]
            plain = not {"enum", "oneof"} & set(kinds) and "AttemptRef ref " not in code
            if plain and not described:
                found.append((number, f"{open_blocks[-1][1]}.{field[1]}"))
        elif code.strip().startswith("}"):
            open_blocks.pop()
        commented = False
    of_calls = {name for name in of_calls if name.endswith(("Request", "Response"))}
    return [(number, what) for number, what in found if what not in of_calls]


def main():
    files = sorted((pathlib.Path(sys.argv[1]) / "proto/hpc/v1").glob("*.proto"))
    if len(files) < 5:
        sys.exit("proto_comments_test: hardly any file was found; it guards nothing")
    missing = [f"{file.name}:{number}: {what} has no comment"
               for file in files for number, what in undescribed(file.read_text())]
    print("\n".join(missing) or "everything has a comment")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
