"""The figures as one picture: a bar for each system's median, and the middle half of its samples."""

import html

from measure.figure import OURS

WIDTH, BAR, LEFT, RIGHT = 760, 16, 110, 150
STYLE = """
text { font: 12px sans-serif; fill: #222 } .name { font-weight: bold } .goal { stroke: #c33 }
.ours { fill: #2a7ab8 } .theirs { fill: #b9bec4 } .spread { stroke: #222 } .ground { fill: #fff }
@media (prefers-color-scheme: dark) {
 text { fill: #ddd } .theirs { fill: #6a7078 } .spread { stroke: #eee } .ground { fill: #161b22 } }
"""


def limit(figure):
    """Where our bar should end at most, or reach at least; None: there is no goal."""
    if not figure.goals:
        return None
    goal = figure.goals[0]
    return goal.limit * (figure.median(goal.peer) if goal.peer else 1)


def panel(figure, top, number):
    """The figure's lines of SVG, and where the next begins."""
    goal = limit(figure)
    ends = [figure.spread(system)[2] for system in figure.samples]
    scale = (WIDTH - LEFT - RIGHT) / (max(ends + [goal or 0]) or 1)
    yield f'<text class="name" x="8" y="{top + 12}">{html.escape(figure.name)} [{figure.unit}]</text>'
    y = top + 20
    for system in figure.samples:
        _, first, third, _ = (LEFT + scale * value for value in figure.spread(system))
        kind = "ours" if system == OURS else "theirs"
        middle = y + BAR / 2 - 1
        yield (f'<text x="8" y="{y + 12}">{html.escape(system)[:16]}</text>'
               f'<rect class="{kind}" x="{LEFT}" y="{y}" height="{BAR - 2}" '
               f'width="{max(scale * figure.median(system), 1):.1f}"/>'
               f'<path class="spread" d="M{first:.1f} {middle} H{third:.1f}"/>'
               f'<text x="{max(third, LEFT) + 6:.1f}" y="{y + 12}">{number(figure.median(system))}</text>')
        if goal is not None and system == OURS:
            x = LEFT + scale * goal
            yield f'<path class="goal" d="M{x:.1f} {y - 2} V{y + BAR}"><title>goal</title></path>'
        y += BAR


def height(figure):
    return 34 + BAR * len(figure.samples)


def picture(figures, number):
    """`number` writes a value."""
    top, lines = 30, []
    for figure in figures:
        lines += panel(figure, top, number)
        top += height(figure)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}">'
            f'<style>{STYLE}</style><rect class="ground" width="{WIDTH}" height="{top}"/>\n'
            f'<text x="8" y="18">hpcctl in blue; a red mark is the goal</text>\n'
            + "\n".join(lines) + "\n</svg>\n")
