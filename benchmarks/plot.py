"""Draws small multiples with logarithmic axes as SVG: lines for theory, marks for measurements, one legend."""
import html
import math
from typing import NamedTuple

COLOURS = ["#4477aa", "#ee6677", "#228833", "#aa3377", "#ccbb44", "#66ccee"]
SHAPES = ["circle", "square", "diamond", "triangle", "cross", "circle"]
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 270, 240, 58, 30, 12, 44
LEGEND = 52
UNITS = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")]


class Series(NamedTuple):
    label: str
    line: list  # points (x, y)
    marks: list


class Panel(NamedTuple):
    title: str
    series: list


def format_size(count):
    unit, name = next((unit, name) for unit, name in UNITS if count >= unit)
    return f"{count / unit:g} {name}"


def text(x, y, content, anchor="middle", size=11, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" {extra}>{html.escape(content)}</text>'


def line(x1, y1, x2, y2, colour, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def mark(x, y, shape, colour):
    style = f'fill="none" stroke="{colour}" stroke-width="1.6"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {style}/>'
    corners = {"square": [(-4, -4), (4, -4), (4, 4), (-4, 4)], "diamond": [(0, -5), (5, 0), (0, 5), (-5, 0)],
               "triangle": [(0, -5), (5, 4), (-5, 4)], "cross": [(-4, -4), (0, 0), (4, -4), (0, 0), (4, 4), (0, 0), (-4, 4), (0, 0)]}
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners[shape])
    return f'<polygon points="{points}" {style}/>'


class Scale:
    """A logarithmic axis from the first to the last value, in pixels."""

    def __init__(self, values, start, end, padding):
        self.low, self.high = math.log10(min(values)) - padding, math.log10(max(values)) + padding
        self.start, self.end = start, end

    def place(self, value):
        return self.start + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)

    def get_decades(self):
        return [10.0 ** power for power in range(math.ceil(self.low), math.floor(self.high) + 1)]


def draw_panel(panel, styles, x_scale, y_scale, x_ticks, x_label, y_label):
    parts = [text(LEFT + (WIDTH - LEFT - RIGHT) / 2, TOP - 10, panel.title, size=12)]
    for value in y_scale.get_decades():
        y = y_scale.place(value)
        parts += [line(LEFT, y, WIDTH - RIGHT, y, "#dddddd"), text(LEFT - 5, y + 4, format_size(value), "end", 10)]
    for value in x_ticks:
        x = x_scale.place(value)
        parts += [line(x, TOP, x, HEIGHT - BOTTOM, "#eeeeee"), text(x, HEIGHT - BOTTOM + 14, str(value), size=10)]
    parts.append(f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}" '
                 'fill="none" stroke="#666666"/>')
    for series in panel.series:
        colour, shape = styles[series.label]
        points = " ".join(f"{x_scale.place(x):.1f},{y_scale.place(y):.1f}" for x, y in series.line)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts += [mark(x_scale.place(x), y_scale.place(y), shape, colour) for x, y in series.marks]
    parts.append(text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - BOTTOM + 30, x_label, size=10))
    middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
    parts.append(text(12, middle, y_label, size=10, extra=f'transform="rotate(-90 12 {middle:.1f})"'))
    return parts


def draw_legend(styles, caption):
    parts, x = [], LEFT
    for label, (colour, shape) in styles.items():
        parts += [line(x, 20, x + 28, 20, colour, 1.6), mark(x + 14, 20, shape, colour), text(x + 34, 24, label, "start", 12)]
        x += 60 + 7 * len(label)
    return parts + [text(LEFT, 44, caption, "start", 11)]


def write_svg(path, panels, columns, x_label, y_label, caption):
    """Panels row by row; those of a row share their vertical axis."""
    labels = list(dict.fromkeys(series.label for panel in panels for series in panel.series))
    styles = {label: (COLOURS[index % len(COLOURS)], SHAPES[index % len(SHAPES)]) for index, label in enumerate(labels)}
    x_ticks = sorted({x for panel in panels for series in panel.series for x, _ in series.line})
    x_scale = Scale(x_ticks, LEFT, WIDTH - RIGHT, padding=0.08)
    rows = [panels[start:start + columns] for start in range(0, len(panels), columns)]
    width, height = columns * WIDTH, LEGEND + len(rows) * HEIGHT
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" fill="#222222">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    parts += draw_legend(styles, caption)
    for row, members in enumerate(rows):
        values = [y for panel in members for series in panel.series for _, y in series.line + series.marks]
        y_scale = Scale(values, HEIGHT - BOTTOM, TOP, padding=0.1)
        for column, panel in enumerate(members):
            parts.append(f'<g transform="translate({column * WIDTH} {LEGEND + row * HEIGHT})">')
            parts += draw_panel(panel, styles, x_scale, y_scale, x_ticks, x_label, y_label) + ["</g>"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts + ["</svg>"]) + "\n")
