"""Draw lineage as SVG: a box for each stream and table with its columns, and lines between columns.

Boxes are arranged in levels from left to right: sources first, every other box to the right of all
boxes it reads. The boxes of a level have the same width, so that lines run between levels and not
under boxes. A long type is truncated; its full text is shown as a tooltip.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from duolog.cli.sql.lineage import Column, Relation

_ROW: Final = 20
_HEAD: Final = 28
_LETTER: Final = 8
_PADDING: Final = 12
_GAP_X: Final = 90
_GAP_Y: Final = 24
_MARGIN: Final = 20
_TYPE_MAX: Final = 32
_STYLE: Final = """
  text { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; font-size: 13px; fill: #1f2937 }
  .head { font-weight: 600; fill: #fff }
  .box { fill: #fff; stroke: #94a3b8 }
  .stream { fill: #2563eb } .table { fill: #059669 }
  .key { font-weight: 600 }
  path { fill: none; stroke: #94a3b8 }
"""


def as_svg(relations: Sequence[Relation]) -> str:
    """Return the SVG text of a picture of relations."""
    levels = _levels(relations)
    widths = _widths(relations, levels)
    places = _places(relations, levels, widths)
    boxes = [_box(one, *places[one.name], widths[one.name]) for one in relations]
    rows = {
        (one.name, column.name): row for one in relations for row, column in enumerate(one.columns)
    }
    lines = [
        _line(places[name], rows[name, of], places[one.name], row, widths[name])
        for one in relations
        for row, column in enumerate(one.columns)
        for name, of in column.origins
    ]
    width = max((places[one.name][0] + widths[one.name] for one in relations), default=0) + _MARGIN
    height = max((places[one.name][1] + _height(one) for one in relations), default=0) + _MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">'
    )
    parts = [head, f"<style>{_STYLE}</style>", *lines, *boxes, "</svg>"]
    return "\n".join(parts) + "\n"


def _levels(relations: Sequence[Relation]) -> dict[str, int]:
    """Return the level of each box."""
    levels: dict[str, int] = {}
    for one in relations:  # The relations that a relation reads precede it.
        levels[one.name] = max((levels.get(name, -1) + 1 for name in one.reads), default=0)
    return levels


def _widths(relations: Sequence[Relation], levels: Mapping[str, int]) -> dict[str, int]:
    """Return the width of each box, which is the same for all boxes of a level."""
    widest: dict[int, int] = {}
    for one in relations:
        level = levels[one.name]
        widest[level] = max(widest.get(level, 0), _width(one))
    return {name: widest[level] for name, level in levels.items()}


def _places(
    relations: Sequence[Relation], levels: Mapping[str, int], widths: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """Return the upper left corner of each box."""
    places: dict[str, tuple[int, int]] = {}
    x = _MARGIN
    for level in range(max(levels.values(), default=-1) + 1):
        here = [one for one in relations if levels[one.name] == level]
        y = _MARGIN
        for one in here:
            places[one.name] = x, y
            y += _height(one) + _GAP_Y
        x += widths[here[0].name] + _GAP_X
    return places


def _box(one: Relation, x: int, y: int, width: int) -> str:
    height = _height(one)
    rows = [
        f'<text class="{"key" if column.key else "value"}" x="{x + _PADDING}" '
        f'y="{y + _HEAD + _ROW * at + 15}">{escape(_shortened(column.name, column.type))}'
        f"{_tooltip(column)}</text>"
        for at, column in enumerate(one.columns)
    ]
    return "\n".join(
        [
            f'<rect class="box" x="{x}" y="{y}" width="{width}" height="{height}"/>',
            f'<rect class="{one.kind}" x="{x}" y="{y}" width="{width}" height="{_HEAD - 4}"/>',
            f'<text class="head" x="{x + _PADDING}" y="{y + 17}">{escape(_title(one))}</text>',
            *rows,
        ]
    )


def _line(
    begin: tuple[int, int], begin_row: int, end: tuple[int, int], end_row: int, width: int
) -> str:
    x1, y1 = begin[0] + width, begin[1] + _HEAD + _ROW * begin_row + _ROW // 2
    x2, y2 = end[0], end[1] + _HEAD + _ROW * end_row + _ROW // 2
    middle = (x1 + x2) // 2
    return f'<path d="M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"/>'


def _title(one: Relation) -> str:
    return f"{one.name} · {one.topic}"


def _shortened(name: str, of: str) -> str:
    return f"{name} {of if len(of) <= _TYPE_MAX else of[: _TYPE_MAX - 1] + '…'}"


def _tooltip(column: Column) -> str:
    """Return a tooltip with the full type if it is truncated."""
    return f"<title>{escape(column.type)}</title>" if len(column.type) > _TYPE_MAX else ""


def _width(one: Relation) -> int:
    texts = [_title(one), *(_shortened(column.name, column.type) for column in one.columns)]
    return max(map(len, texts)) * _LETTER + 2 * _PADDING


def _height(one: Relation) -> int:
    return _HEAD + _ROW * len(one.columns) + 8
