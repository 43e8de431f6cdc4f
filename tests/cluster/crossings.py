#!/usr/bin/env python3
"""Do a run's restarts pay only for its own failures, whatever else happens and in whatever order?

    tests/cluster/crossings.py [--jobs N] [--list] [LINE ... | FIRST:LAST]

Does each line of harness/crossing_lines.py (or those that are named, by number or as text) to a gang
on three PCs of its own in network namespaces, N at a time; harness/crossing.py says what a line is
and what must be so after it. Prints each that is not as promised, with what happened in a file, and
exits with 1 if there is one. On two cores nine at a time disturb each other little, and all take some fifteen minutes. Needs root.
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile
import time

from harness.crossing import Crossing, Line
from harness.crossing_lines import all_lines


def judge_one(text, story):
    """In a process of its own. Exits with 1 if something was wrong, with what on standard output."""
    crossing = None
    try:
        crossing = Crossing(text)
        wrong = crossing.judge()
    except Exception as error:  # pylint: disable=broad-except
        wrong = [f"{type(error).__name__}: {error}"]
    if wrong and crossing:
        try:
            pathlib.Path(story).write_text("\n".join([text, *wrong, crossing.story()]))
        except Exception as error:  # pylint: disable=broad-except
            pathlib.Path(story).write_text("\n".join([text, *wrong, *crossing.notes, str(error)]))
    if crossing:
        crossing.close()
    print("\n".join(wrong))
    sys.exit(bool(wrong))


def chosen(words):
    """{number: line} of those that were asked for."""
    lines = dict(enumerate(all_lines()))
    if not words:
        return lines
    found = {}
    for word in words:
        if word.replace(":", "").isdigit():
            first, _, last = word.partition(":")
            found.update((n, lines[n]) for n in range(int(first), int(last or first) + 1))
        else:
            Line(word)  # refuses it before anything is started
            found[len(lines) + len(found)] = word
    return found


def run_all(lines, jobs, stories):
    """Returns the numbers of those that were not as promised."""
    def run(number):
        done = subprocess.run([sys.executable, __file__, "--one", lines[number], "--story",
                               stories / f"{number}.txt"], capture_output=True, text=True)
        return number, done.returncode, (done.stdout + done.stderr).strip()
    wrong, begin = [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for count, (number, code, said) in enumerate(pool.map(run, lines), 1):
            if code:
                wrong.append(number)
                print(f"{number}: {lines[number]}\n    {said[:1500]}\n    {stories}/{number}.txt", flush=True)
            if count % 50 == 0:
                print(f"{count} of {len(lines)}, {len(wrong)} not as promised, "
                      f"{(time.monotonic() - begin) / 60:.1f} min", flush=True)
    print(f"{len(lines) - len(wrong)} of {len(lines)} as promised, "
          f"{(time.monotonic() - begin) / 60:.1f} min")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lines", nargs="*", metavar="LINE")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--list", action="store_true", help="print the lines with their numbers")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--story", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        judge_one(args.one, args.story)
    lines = chosen(args.lines)
    if args.list:
        for number, line in lines.items():
            Line(line)
            print(f"{number:4} {line}")
        return
    stories = pathlib.Path(tempfile.mkdtemp(prefix="hpc-crossings-"))
    sys.exit(bool(run_all(lines, args.jobs, stories)))


if __name__ == "__main__":
    main()
