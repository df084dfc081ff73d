"""Bar charts as SVG, written by hand: panels of grouped horizontal bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

PANEL_WIDTH = 460
MARGIN = 24
LABEL_WIDTH = 104
VALUE_WIDTH = 74
BAR_HEIGHT = 13
GROUP_GAP = 10
TITLE_HEIGHT = 30
PANELS_PER_ROW = 2

# The Okabe-Ito colours, which stay apart for colour-blind readers.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#999999")
INK = "#222222"
FAINT = "#666666"
NAMESPACE = "http://www.w3.org/2000/svg"
FONT = "font-family='Helvetica, Arial, sans-serif'"


@dataclass(frozen=True, slots=True)
class Group:
    """Bars that belong together, one for each series; None is a bar that could not be measured."""

    label: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    groups: Sequence[Group]


def bars(title: str, series: Sequence[str], panels: Sequence[Panel]) -> str:
    """A whole SVG document: title, legend and panels, two in a row."""
    panel_height = max(height_of(panel) for panel in panels)
    lines = (len(panels) + PANELS_PER_ROW - 1) // PANELS_PER_ROW
    width = MARGIN * (PANELS_PER_ROW + 1) + PANEL_WIDTH * PANELS_PER_ROW
    top = 84
    height = top + lines * (panel_height + MARGIN)
    size = f"width='{width}' height='{height}'"
    parts = [
        f"<svg xmlns='{NAMESPACE}' viewBox='0 0 {width} {height}' {size} {FONT}>",
        f"<rect {size} fill='#ffffff'/>",
        text(MARGIN, 34, title, 18, INK, weight="bold"),
        *legend(series, MARGIN, 60),
    ]
    for index, panel in enumerate(panels):
        line, column = divmod(index, PANELS_PER_ROW)
        x = MARGIN + column * (PANEL_WIDTH + MARGIN)
        parts += draw(panel, x, top + line * (panel_height + MARGIN))
    return "\n".join([*parts, "</svg>\n"])


def height_of(panel: Panel) -> int:
    return TITLE_HEIGHT + sum(len(group.values) * BAR_HEIGHT + GROUP_GAP for group in panel.groups)


def legend(series: Sequence[str], x: float, y: float) -> list[str]:
    parts = []
    for index, name in enumerate(series):
        colour = COLOURS[index % len(COLOURS)]
        parts.append(f"<rect x='{x}' y='{y - 10}' width='12' height='12' fill='{colour}'/>")
        parts.append(text(x + 17, y, name, 12, INK))
        x += 38 + 7 * len(name)
    return parts


def draw(panel: Panel, x: float, y: float) -> list[str]:
    parts = [text(x, y + 14, panel.title, 14, INK, weight="bold")]
    largest = max((value for group in panel.groups for value in group.values if value), default=1)
    scale = (PANEL_WIDTH - LABEL_WIDTH - VALUE_WIDTH) / largest
    start = x + LABEL_WIDTH
    y += TITLE_HEIGHT
    for group in panel.groups:
        middle = y + len(group.values) * BAR_HEIGHT / 2 + 4
        parts.append(text(start - 8, middle, group.label, 11, FAINT, anchor="end"))
        for index, value in enumerate(group.values):
            colour = COLOURS[index % len(COLOURS)]
            length = max(1.0, (value or 0) * scale)
            parts.append(
                f"<rect x='{start}' y='{y + 1}' width='{length:.1f}' "
                f"height='{BAR_HEIGHT - 2}' fill='{colour}'/>"
            )
            label = "void" if value is None else f"{value:,.0f}"
            parts.append(text(start + length + 5, y + BAR_HEIGHT - 3, label, 10, FAINT))
            y += BAR_HEIGHT
        y += GROUP_GAP
    return parts


def text(
    x: float, y: float, words: str, size: int, colour: str, weight: str = "", anchor: str = ""
) -> str:
    style = f" font-weight='{weight}'" if weight else ""
    style += f" text-anchor='{anchor}'" if anchor else ""
    place = f"x='{x:.1f}' y='{y:.1f}' font-size='{size}'"
    return f"<text {place} fill='{colour}'{style}>{escape(words)}</text>"
