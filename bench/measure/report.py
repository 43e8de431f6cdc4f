"""RESULTS.md, results.svg and results.json of one run of the benchmark."""

import json
import pathlib
import re

from measure.drawing import picture
from measure.figure import OURS

ROOT = pathlib.Path(__file__).resolve().parents[2]
METRICS = ROOT / "docs" / "METRICS.md"


def defined():
    """The names that docs/METRICS.md defines: its headings of the third level."""
    return re.findall(r"^### (.+)$", METRICS.read_text(), re.MULTILINE)


def check_defined(figures):
    missing = [figure.name for figure in figures if figure.name not in defined()]
    if missing:
        raise ValueError(f"{METRICS} does not define: {', '.join(missing)}")


def anchor(name):
    return re.sub(r"[^a-z0-9 _-]", "", name.lower()).replace(" ", "-")


def number(value):
    """Three digits of it that count."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def cell(figure, system):
    _, first, third, _ = figure.spread(system)
    if len(figure.samples[system]) == 1:
        return number(figure.median(system))
    return f"{number(figure.median(system))} ({number(first)} - {number(third)})"


def ratio(figure, peer):
    value = figure.ratio(peer) if peer else None
    return "-" if value is None else number(value)


def verdict(figure, goal, judged):
    if not judged:
        return "not judged"
    return "yes" if figure.reached(goal) else "**no**"


def rows(figure, judged):
    """A row for each system beside ours, and one for goals that are no ratio."""
    peers = [system for system in figure.samples if system != OURS]
    name = f"[{figure.name}](../docs/METRICS.md#{anchor(figure.name)}) [{figure.unit}]"
    alone = [goal for goal in figure.goals if not goal.peer]
    for peer in peers or [None]:
        goals = [goal for goal in figure.goals if goal.peer == peer] or alone
        alone = [goal for goal in alone if goal not in goals]
        yield [name if figure.note == "" else f"{name} ({figure.note})", cell(figure, OURS),
               f"{peer}: {cell(figure, peer)}" if peer else "-",
               ratio(figure, peer),
               "; ".join(map(str, goals)) or "-",
               "; ".join(verdict(figure, goal, judged) for goal in goals) or "-"]


def table(figures, judged):
    lines = ["| figure | hpcctl | beside it | ratio | goal | reached |", "|---|---|---|---|---|---|"]
    for figure in figures:
        lines += ["| " + " | ".join(row) + " |" for row in rows(figure, judged)]
    return "\n".join(lines) + "\n"


def page(figures, machine, versions, counted, judged):
    facts = {**machine, "versions": "; ".join(versions), "CPU time counted by": counted}
    return (
        "# What `bench/run.sh` measured\n\n"
        + "".join(f"- {key}: {value}\n" for key, value in facts.items())
        + "\nMedian (the middle half of the samples). Samples of the systems were taken in turn; the ratio"
          "\nis the median of the ratios of neighbours, hpcctl's by the other's. Each name leads to its"
          "\ndefinition. Everything ran on this one machine.\n\n"
        + ("" if judged else "A quick run: it shows that everything can be measured, and judges nothing.\n\n")
        + table(figures, judged)
        + "\n![The figures](results.svg)\n")


def write(folder, figures, machine, versions, counted, judged):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "RESULTS.md").write_text(page(figures, machine, versions, counted, judged))
    (folder / "results.svg").write_text(picture(figures, number))
    (folder / "results.json").write_text(json.dumps(
        {"machine": machine, "versions": versions, "cpu": counted, "quick": not judged,
         "figures": [figure.as_dict() for figure in figures]}, indent=1) + "\n")
