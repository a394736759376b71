# SPDX-License-Identifier: GPL-2.0-or-later
"""Curves over time as SVG."""

import html

WIDTH, HEIGHT = 900, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 40, 40
STEPS = 5
COLOURS = ("#b04040", "#2060a0", "#808080", "#208040", "#a06000")


def _step(most):
    """A round number that goes into @most about STEPS times."""
    step = 1
    while most / step > STEPS:
        step *= 2 if str(step)[0] in "15" else 2.5
        step = int(step)
    return step


def unit_marks(count, per_unit):
    """Those of an axis of @count values, @per_unit of them to a unit."""
    units = (count - 1) // per_unit
    return [(unit * per_unit, unit) for unit in range(0, units + 1, _step(units))]


def write_curves(path, title, marks, curves):
    """Draw @curves, names to equally long lists of values; @marks has the index and the text of those of the x axis."""
    most = max(max(values) for values in curves.values()) or 1
    count = max(len(values) for values in curves.values())

    def across(index):
        return LEFT + (WIDTH - LEFT - RIGHT) * index / max(1, count - 1)

    def down(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / most

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{LEFT}" y="18" font-size="14">{html.escape(title)}</text>']
    for value in range(0, int(most) + 1, _step(most)):
        parts.append(f'<path d="M{LEFT} {down(value):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>'
                     f'<text x="{LEFT - 6}" y="{down(value) + 4:.1f}" text-anchor="end">{value}</text>')
    for index, text in marks:
        parts.append(f'<text x="{across(index):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{text}</text>')
    for number, (name, values) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(f"{across(index):.1f},{down(value):.1f}"
                          for index, value in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
                     f'<text x="{LEFT + 180 * number}" y="{TOP - 8}" fill="{colour}">'
                     f'{html.escape(name)}</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*parts, "</svg>", ""]))
