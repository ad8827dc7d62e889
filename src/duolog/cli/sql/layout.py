"""Format statements: on one line if it fits, else one clause or list item per line.

    CREATE TABLE by_airline WITH (KAFKA_TOPIC = 'by-airline') AS
    SELECT
      a.carrier,
      COUNT(*) AS flights
    FROM flights f
    LEFT JOIN airlines a ON f.carrier = a.carrier
    GROUP BY a.carrier
    EMIT CHANGES;

Only white space, line breaks and the case of keywords change. Names and comments are preserved.
Formatting is idempotent.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from duolog.cli.sql.pieces import Piece, mark_names, pieces_of, statements_of

WIDTH: Final = 88
_INDENT: Final = "  "

_CLAUSES: Final = (
    ("SELECT",),
    ("FROM",),
    ("JOIN",),
    ("INNER", "JOIN"),
    ("LEFT", "JOIN"),
    ("RIGHT", "JOIN"),
    ("FULL", "JOIN"),
    ("LEFT", "OUTER", "JOIN"),
    ("RIGHT", "OUTER", "JOIN"),
    ("FULL", "OUTER", "JOIN"),
    ("WINDOW",),
    ("WHERE",),
    ("GROUP", "BY"),
    ("PARTITION", "BY"),
    ("HAVING",),
    ("QUALIFY",),
    ("ORDER", "BY"),
    ("EMIT",),
    ("LIMIT",),
    ("OFFSET",),
    ("UNION",),
    ("UNION", "ALL"),
    ("INTERSECT",),
    ("EXCEPT",),
    ("CROSS", "JOIN"),
    ("CHANGES", "OF"),
    ("WITH",),
    ("VALUES",),
)
_LISTS: Final = {"SELECT": 1, "GROUP": 2, "PARTITION": 2, "ORDER": 2, "WITH": 1}
"""Clauses that are lists, with the number of keywords they start with."""
_QUERIES: Final = ("SELECT", "WITH")
"""First words of a subquery."""
_OPENING: Final = {"(": ")", "[": "]"}
_ENDS: Final = frozenset({"(", ")", "[", "]", "<", ">", "CASE", "END"})
_TIGHT_BEFORE: Final = frozenset({",", ";", ")", "]", ".", "->"})
_TIGHT_BEHIND: Final = frozenset({"(", "[", ".", "->"})
_TYPES: Final = frozenset({"ARRAY", "MAP", "STRUCT"})
_APART: Final = frozenset(
    [
        "VALUES",
        "KEY",
        "WITH",
        "IN",
        "AS",
        "TUMBLING",
        "HOPPING",
        "SESSION",
        "AND",
        "OR",
        "NOT",
        "BY",
        "WHEN",
        "THEN",
        "ELSE",
        "ON",
        "WITHIN",
        "SELECT",
        "WHERE",
        "HAVING",
        "CASE",
        "BETWEEN",
        "LIKE",
        "FROM",
        "JOIN",
        "OVER",
        "QUALIFY",
        "ALL",
        "EXISTS",
        "KEY",
    ]
)
"""Words with a space before a following parenthesis, which is not a call."""
_OPERATORS: Final = frozenset(
    [
        "=",
        "<>",
        "!=",
        "<",
        ">",
        "<=",
        ">=",
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        ":=",
        "=>",
        "(",
        "[",
        ",",
        "<",
    ]
)


def formatted(text: str) -> str:
    """Return formatted statements.

    Raises:
        SqlError: the text cannot be parsed.
    """
    pieces, last = pieces_of(text)
    mark_names(pieces, text)
    written: list[str] = []
    long = False
    for statement in statements_of(pieces):
        lines = list(_lines(statement, ""))
        if written and (statement[0].blank or long or len(lines) > 1):
            written.append("")
        written += lines
        comments = sum(comment.count("\n") + 1 for comment in statement[0].before)
        long = len(lines) > 1 + comments
    if last:
        written += ["", *last] if written else last
    result = "".join(f"{line}\n" for line in written)
    assert _essence(result) == _essence(text), "laying out has changed a statement"
    return result


def _essence(text: str) -> list[str]:
    """Return the pieces and comments, which formatting must not change."""
    pieces, last = pieces_of(text)
    found: list[str] = []
    for piece in pieces:
        capital = piece.kind == "word"
        found += [*piece.before, piece.text.upper() if capital else piece.text, *piece.behind]
    return [" ".join(one.split()) if one.startswith("/*") else one for one in [*found, *last]]


def _lines(statement: Sequence[Piece], indent: str) -> Iterator[str]:
    if _fits(statement, indent):
        yield from _on_one(statement, indent)
        return
    for clause in _clauses(statement):
        yield from _clause(clause, indent)


def _clauses(statement: Sequence[Piece]) -> Iterator[Sequence[Piece]]:
    """Yield the clauses of a statement, including any text before the first one."""
    start = behind = 0
    for at, depth in _depths(statement):
        if depth == 0 and at >= behind and (count := _begins(statement, at)):
            if at > start:
                yield statement[start:at]
            start, behind = at, at + count
    yield statement[start:]


def _begins(statement: Sequence[Piece], at: int) -> int:
    """Return the number of keywords of the clause that starts here; 0 if none does."""
    words = tuple(piece.word for piece in statement[at : at + 3])
    lists = at + 1 < len(statement) and statement[at + 1].text == "("
    if (words[0] == "WITH" and lists) or (words[0] == "VALUES" and not lists):
        return 0  # WITH of properties instead of queries, or ASSERT VALUES of a stream.
    return max((len(one) for one in _CLAUSES if words[: len(one)] == one), default=0)


def _clause(clause: Sequence[Piece], indent: str) -> Iterator[str]:
    if _fits(clause, indent):
        yield from _on_one(clause, indent)
    elif count := _LISTS.get(clause[0].word):
        yield from _on_lines(clause[:count], indent, "")
        for item in _items(clause[count:]):
            yield from _broken(item, indent + _INDENT)
    else:
        yield from _broken(clause, indent)


def _broken(pieces: Sequence[Piece], indent: str, begin: str = "") -> Iterator[str]:
    """Yield the lines of a part of a clause, with the prefix `begin` on the first line."""
    if _fits(pieces, indent + begin):
        yield from _on_one(pieces, indent, begin)
        return
    for cuts in (
        _split_at_conditions(pieces),
        _split_at_comments(pieces),
        _split_at_branches(pieces),
    ):
        if len(cuts) > 1:
            yield from _broken(cuts[0], indent, begin)
            for cut in cuts[1:]:
                yield from _broken(cut, indent if cut[0].word == "END" else indent + _INDENT)
            return
    group = _group(pieces)
    if group is None:
        yield from _on_lines(pieces, indent, begin)
        return
    opens, closes = group
    yield from _on_lines(pieces[: opens + 1], indent, begin)
    if pieces[opens + 1].word in _QUERIES:
        yield from _lines(pieces[opens + 1 : closes], indent + _INDENT)
    else:
        for item in _items(pieces[opens + 1 : closes]):
            yield from _broken(item, indent + _INDENT)
    yield from _broken(pieces[closes:], indent)


def _split_at_conditions(pieces: Sequence[Piece]) -> list[Sequence[Piece]]:
    """Split at AND and OR, except for the AND of a BETWEEN."""
    cuts, start, between = [], 0, False
    for at, depth in _depths(pieces):
        word = pieces[at].word if depth == 0 else ""
        if word == "BETWEEN":
            between = True
        elif word == "AND" and between:
            between = False
        elif word in {"AND", "OR"} and at > start and pieces[at - 1].word != "CREATE":
            cuts.append(pieces[start:at])
            start = at
    return [*cuts, pieces[start:]]


def _split_at_comments(pieces: Sequence[Piece]) -> list[Sequence[Piece]]:
    """Split after comments that end a line, except inside parentheses."""
    cuts, start = [], 0
    for at, depth in _depths(pieces):
        piece = pieces[at]
        if depth or piece.text in _ENDS or piece.word in _ENDS:
            continue
        if piece.before and at > start:
            cuts.append(pieces[start:at])
            start = at
        if piece.behind and at + 1 < len(pieces):
            cuts.append(pieces[start : at + 1])
            start = at + 1
    return [*cuts, pieces[start:]]


def _split_at_branches(pieces: Sequence[Piece]) -> list[Sequence[Piece]]:
    """Split before the branches of the first CASE."""
    cases = 0
    cuts, start = [], 0
    for at, piece in enumerate(pieces):
        cases += piece.word == "CASE"
        if cases == 1 and piece.word in {"WHEN", "ELSE", "END"}:
            cuts.append(pieces[start:at])
            start = at
        cases -= piece.word == "END"
        if cases == 0 and cuts:
            break
    return [*cuts, pieces[start:]]


def _group(pieces: Sequence[Piece]) -> tuple[int, int] | None:
    """Return the positions of the first non-empty parentheses, preferring those of a subquery."""
    found: list[tuple[int, int]] = []
    opened: int | None = None
    for at, depth in _depths(pieces):
        if depth == 0 and opened is not None:
            if at > opened + 1:
                found.append((opened, at))
            opened = None
        if depth == 0 and pieces[at].text in _OPENING:
            opened = at
    of_queries = [one for one in found if pieces[one[0] + 1].word in _QUERIES]
    return next(iter(of_queries or found), None)


def _items(pieces: Sequence[Piece]) -> Iterator[Sequence[Piece]]:
    """Yield the items of a list, each with its comma."""
    start = 0
    for at, depth in _depths(pieces):
        if depth == 0 and pieces[at].text == ",":
            yield pieces[start : at + 1]
            start = at + 1
    if start < len(pieces):
        yield pieces[start:]


def _depths(pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
    """Yield each position with its nesting depth; delimiters count as outside."""
    depth = types = 0
    for at, piece in enumerate(pieces):
        of_type = piece.text == "<" and at > 0 and pieces[at - 1].word in _TYPES
        if piece.text in {")", "]"} or piece.word == "END":
            depth -= 1
        elif piece.text == ">" and types:
            types, depth = types - 1, depth - 1
        yield at, depth
        if piece.text in _OPENING or piece.word == "CASE":
            depth += 1
        elif of_type:
            types, depth = types + 1, depth + 1


def _on_lines(pieces: Sequence[Piece], indent: str, begin: str) -> Iterator[str]:
    """Yield pieces that cannot be split at clause level, with line breaks only at comments."""
    start = 0
    for at in range(1, len(pieces) + 1):
        if at == len(pieces) or pieces[at - 1].behind or pieces[at].before:
            yield from _on_one(pieces[start:at], indent if start == 0 else indent + _INDENT, begin)
            start, begin = at, ""


def _fits(pieces: Sequence[Piece], indent: str) -> bool:
    """Return true if pieces fit on one line, with comments only before and after them."""
    inside = any(piece.behind for piece in pieces[:-1]) or any(piece.before for piece in pieces[1:])
    return not inside and len(indent) + len(_flat(pieces)) <= WIDTH


def _on_one(pieces: Sequence[Piece], indent: str, begin: str = "") -> Iterator[str]:
    """Yield pieces on one line, between the comments before and after them."""
    for comment in pieces[0].before:
        yield from (
            f"{indent}{line}".rstrip() if not at else line
            for at, line in enumerate(comment.split("\n"))
        )
    comments = "".join(f" {comment}" for comment in pieces[-1].behind)
    yield f"{indent}{begin}{_flat(pieces)}{comments}"


def _flat(pieces: Sequence[Piece]) -> str:
    text = ""
    types = 0
    for at, piece in enumerate(pieces):
        before = pieces[at - 1] if at else None
        in_type = (piece.text == "<" and before is not None and before.word in _TYPES) or (
            piece.text == ">" and types > 0
        )
        tight = before is None or in_type or _is_tight(pieces[max(0, at - 2) : at], piece, types)
        types += in_type * (1 if piece.text == "<" else -1)
        text += ("" if tight else " ") + (piece.word or piece.text)
    return text


def _is_tight(before: Sequence[Piece], piece: Piece, types: int) -> bool:
    """Return whether a piece follows the previous one or two without a space."""
    last = before[-1]
    if piece.text in _TIGHT_BEFORE or last.text in _TIGHT_BEHIND:
        return True
    if last.text == "<" and types:
        return True
    if piece.text == "(":
        return last.kind == "word" and last.word not in _APART
    if piece.text == "[":
        return last.kind in {"word", "name"} or last.text in {")", "]"}
    signed = last.text == "-" and last.kind == "sign"
    return signed and (
        len(before) == 1 or before[-2].text in _OPERATORS or before[-2].word in _APART
    )
