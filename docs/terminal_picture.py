#!/usr/bin/env python3
"""Turns a terminal's text on standard input into an SVG on standard output.

    deploy/quickstart.sh | docs/terminal_picture.py > docs/run.svg

Long output is shortened in the middle; nothing is invented.
"""

import html
import re
import sys

ROWS = 60
WIDTH = 100
LINE = 17
COLOURS = ["#7ee787", "#79c0ff", "#ffa657", "#d2a8ff"]


def coloured(line):
    rank = re.match(r"\[(\d+)\] ", line)
    if line.startswith("$ "):
        return f'<tspan class="p">$</tspan><tspan class="b">{html.escape(line[1:])}</tspan>'
    if rank:
        colour = COLOURS[int(rank.group(1)) % len(COLOURS)]
        label = rank.group(0)
        return f'<tspan fill="{colour}">{label}</tspan>{html.escape(line[len(label):])}'
    return html.escape(line)


def main():
    lines = [line.rstrip("\n")[:WIDTH] for line in sys.stdin]
    if len(lines) > ROWS:
        head = ROWS // 2
        lines = lines[:head] + ["..."] + lines[-(ROWS - head - 1):]
    height = LINE * len(lines) + 24
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * 8.1 + 24:.0f}" height="{height}" '
          'font-family="monospace" font-size="13">')
    print("<style>.p{fill:#8b949e}.b{fill:#fff;font-weight:bold}text{fill:#c9d1d9;white-space:pre}</style>")
    print('<rect width="100%" height="100%" rx="8" fill="#0d1117"/>')
    for number, line in enumerate(lines):
        print(f'<text x="12" y="{24 + number * LINE}" xml:space="preserve">{coloured(line)}</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
