"""Every line that a daemon logs as a warning or an error is explained in docs/OPERATIONS.md.

Run by CTest; takes the repository's root as its argument.
"""

import pathlib
import re
import sys

CALL = re.compile(r'\bLog(?:Warning|Error)\(\s*(?:absl::StrCat\(\s*)?((?:"(?:[^"\\]|\\.)*"\s*)+)')
FOLDERS = ("common", "coordinator", "member", "worker")


def lines(root):
    """(where, text) of each; of one that is put together, what it begins with."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.cc")):
            if path.stem.endswith("_test"):
                continue
            text = path.read_text()
            for match in CALL.finditer(text):
                words = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match.group(1)))
                number = text.count("\n", 0, match.start()) + 1
                yield f"{path.relative_to(root)}:{number}", words


def main():
    root = pathlib.Path(sys.argv[1])
    rows = [row for row in (root / "docs/OPERATIONS.md").read_text().splitlines()
            if row.startswith("| `")]
    told = re.findall(r"`([^`]+)`", "\n".join(rows))
    told = [text.removesuffix("...").rstrip() for text in told if len(text) > 8]
    found = list(lines(root))
    if len(found) < 20:
        sys.exit("log_lines_test: hardly any line was found; it guards nothing")
    missing = [f"{where}: '{text}'" for where, text in found
               if not any(text.startswith(known) for known in told)]
    print("\n".join(missing) or "every line is explained")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
