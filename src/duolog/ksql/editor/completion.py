"""Complete statements: keywords, names, columns and values that can follow at a place in a text.

    SHOW |                            STREAMS, TABLES, …
    FROM |  DESCRIBE |                streams and tables
    f.|     a->|                      columns of the source with alias f; fields of a STRUCT
    SELECT |                          columns, functions, keywords
    KAFKA_TOPIC = '|  FORMAT = '|     topics, formats
    SET '|  SET 'x' = '|  ${|         settings, their values, variables

What is offered exists in the vocabulary that the caller gives: names that a user may not see must
not be in it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal

from duolog.ksql.editor.cursor import Cursor, Named, cursor_in, path_before
from duolog.ksql.editor.vocabulary import NamedColumn, NamedSource, Vocabulary, field_named
from duolog.ksql.editor.words import (
    BESIDE,
    CLAUSES,
    FOLLOWING,
    PROPERTIES,
    SHOWN,
    STATEMENTS,
    TYPES,
    VALUES,
)
from duolog.ksql.syntax.reserved import RESERVED

CandidateKind = Literal[
    "keyword", "stream", "table", "column", "field", "alias", "function", "query", "topic",
    "property", "value", "setting", "variable", "type",
]  # fmt: skip
CANDIDATES_MAX: Final = 300
_QUERY_BEHIND: Final = frozenset({"EXPLAIN", "TERMINATE", "PAUSE", "RESUME"})
_TOPIC_PROPERTIES: Final = frozenset({"KAFKA_TOPIC", "DEAD_LETTER_TOPIC"})
_VARIABLE: Final = "${"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text for the place of the cursor.

    Attributes:
        text: replaces the word that is being typed.
        detail: some words about it, such as a type.
        help: a description; empty if there is none.
    """

    text: str
    kind: CandidateKind
    detail: str = ""
    help: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """Candidates in the order in which they are likely; they replace the text from `start`."""

    start: int
    candidates: tuple[Candidate, ...]
    is_cut: bool = False
    """True if there are more candidates."""


def completion(text: str, offset: int, known: Vocabulary, most: int = CANDIDATES_MAX) -> Completion:
    """Return what is possible at a place in a text of statements.

    Candidates start with the typed word, or contain it; those that start with it come first.

    Args:
        text: the statements.
        offset: the place of the cursor, in characters.
        known: the existing names.
        most: the most candidates.
    """
    cursor = cursor_in(text, offset)
    if cursor.within == "comment":
        return Completion(cursor.start, ())
    cursor, offered = _in_variable(cursor, text, offset, known) or (cursor, _offers(cursor, known))
    fitting = _ranked(cursor.typed, offered)
    if cursor.within == "name":
        fitting = (replace(one, text=_in_quotes(one.text)) for one in fitting)
    found = list(islice(fitting, most + 1))
    return Completion(cursor.start, tuple(found[:most]), len(found) > most)


def _ranked(typed: str, offered: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield each candidate that fits once, in the case of the typed word."""
    wanted, lower = typed.upper(), typed.islower()
    seen: set[tuple[str, str]] = set()
    within: list[Candidate] = []
    for one in offered:
        text = one.text.strip("`").upper()
        place = text.find(wanted)
        inside = one.kind not in _BY_START and len(typed) >= _INSIDE_MIN
        if text == wanted or place < 0 or (place > 0 and not inside):
            continue
        if (one.text, one.kind) in seen:
            continue
        seen.add((one.text, one.kind))
        lowers = lower and one.kind in _OF_ANY_CASE and not one.text.startswith("`")
        shown = replace(one, text=one.text.lower()) if lowers else one
        if place == 0:
            yield shown
        else:
            within.append(shown)
    yield from within


_OF_ANY_CASE: Final = frozenset(
    {"keyword", "stream", "table", "column", "field", "alias", "function", "property", "type"}
)


_BY_START: Final = frozenset({"keyword", "value"})
_INSIDE_MIN: Final = 2
"""Letters from which names match that contain them."""


def _in_variable(
    cursor: Cursor, text: str, offset: int, known: Vocabulary
) -> tuple[Cursor, Iterable[Candidate]] | None:
    """Return the variables for `${…` at the cursor, also within a literal; None elsewhere."""
    begin = text.rfind(_VARIABLE, 0, offset)
    name = text[begin + len(_VARIABLE) : offset]
    if begin < 0 or not (not name or name.isidentifier()):
        return None
    moved = replace(cursor, start=begin + len(_VARIABLE), typed=name, within="word")
    found = [Candidate(f"{one}}}", "variable", value) for one, value in known.variables.items()]
    return moved, found


def _offers(cursor: Cursor, known: Vocabulary) -> Iterable[Candidate]:
    """Return the candidates for a place, whether they fit the typed word or not."""
    tokens, words = cursor.tokens, cursor.words
    if cursor.within == "literal":
        return _in_literal(words, known)
    if not tokens:
        return _keywords(STATEMENTS)
    last = tokens[-1].text
    if last == "->":
        return _fields(path_before(tokens), cursor.sources, known)
    if last == "." and len(tokens) > 1:
        return _columns_of(tokens[-2].plain, cursor.sources, known)
    begin = " ".join([*words, ""])
    heads = [one[len(begin) :] for one in STATEMENTS if one.startswith(begin)]
    return (*_keywords(heads), *_after(cursor, known))


def _in_literal(words: tuple[str, ...], known: Vocabulary) -> Iterable[Candidate]:
    match words:
        case ("SET",) | ("UNSET",):
            return [Candidate(name, "setting", value) for name, value in known.settings.items()]
        case ("SET", name, "="):
            return _values(_of_setting(name.strip("'")))
        case ("PRINT",) | ("ASSERT", "TOPIC") | ("ASSERT", "NOT", "EXISTS", "TOPIC"):
            return _topics(known)
        case (*_, name, "=") if name in _TOPIC_PROPERTIES:
            return _topics(known)
        case (*_, name, "=") if name in VALUES:
            return _values(VALUES[name])
        case _:
            return ()


def _of_setting(name: str) -> tuple[str, ...]:
    # The settings are loaded with the catalog that knows them.
    from duolog.ksql.settings import allowed_values  # noqa: PLC0415

    return allowed_values(name)


def _after(cursor: Cursor, known: Vocabulary) -> Iterable[Candidate]:  # noqa: PLR0911 - a table
    """Return the names that can follow the words of an incomplete statement."""
    words, before = cursor.words, cursor.words[-1]
    opening = cursor.opening()
    if before in _QUERY_BEHIND:
        queries = [Candidate(name, "query") for name in known.queries]
        return (*queries, *_keywords(("ALL",) if before != "EXPLAIN" else ("SELECT", "UPGRADE")))
    if before == "FUNCTION":
        return _functions(known)
    if before == "PRINT":
        return [replace(one, text=f"'{one.text}'") for one in _topics(known)]
    if _names_a_source(words):
        return _sources(_kind_of(words), known)
    if len(words) == 1 and before in {"SHOW", "LIST"}:
        return _keywords(SHOWN)
    if words[0] in {"SET", "UNSET"}:
        return ()
    if following := FOLLOWING.get(before):
        return _keywords(following)
    if opening >= 0 and (inner := _in_brackets(cursor, opening, known)) is not None:
        return inner
    return _in_expression(cursor, known)


def _names_a_source(words: tuple[str, ...]) -> bool:
    match words:
        case (*_, "FROM" | "JOIN"):
            return True
        case ("DESCRIBE",) | ("INSERT", "INTO"):
            return True
        case ("DROP" | "ALTER", "STREAM" | "TABLE", *rest):
            return rest in ([], ["IF", "EXISTS"])
        case _:
            return False


def _kind_of(words: tuple[str, ...]) -> str:
    """Return STREAM or TABLE if only one of them can follow; else an empty text."""
    match words:
        case ("DROP" | "ALTER", "STREAM" | "TABLE" as kind, *_):
            return kind
        case _:
            return ""


def _in_brackets(cursor: Cursor, opening: int, known: Vocabulary) -> Iterable[Candidate] | None:
    """Return what can follow in a list in brackets; None for those of an expression."""
    words = cursor.words
    before = words[opening - 1] if opening else ""
    if before == "WITH":
        return _properties(cursor) if words[-1] in {"(", ","} else ()
    match words[:opening]:
        case ("INSERT", "INTO", name) if words[-1] in {"(", ","}:
            return _columns_of(_unquoted(name), cursor.sources, known)
        case ("CREATE", *rest) if _declares(rest):
            return _in_declaration(words[opening + 1 :], known)
        case _ if before == "CAST" and words[-1] == "AS":
            return _types(known)
        case _:
            return None


def _declares(rest: list[str]) -> bool:
    """Return true for the words of CREATE STREAM name, before the columns."""
    return len(rest) > 1 and rest[-2] in {"STREAM", "TABLE", "EXISTS"} and "AS" not in rest


def _in_declaration(inner: tuple[str, ...], known: Vocabulary) -> Iterable[Candidate]:
    """Return types after the name of a column, and roles after its type."""
    depth, count = 0, 0
    for word in inner:
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(word, 0)
        count = 0 if word == "," and depth <= 0 else count + 1
    if count == 0:
        return ()
    if count == 1 or depth > 0:
        return _types(known)
    return _keywords(("KEY", "PRIMARY KEY", "HEADERS", "HEADER"))


def _in_expression(cursor: Cursor, known: Vocabulary) -> Iterable[Candidate]:
    words = cursor.words
    if words[:2] == ("CREATE", "TYPE") and words[-1] == "AS":
        return _types(known)
    if words[-1] == "AS" and words[0] == "CREATE":
        return _keywords(("SELECT",))
    if words[0] == "INSERT" and len(words) == 3:
        return _keywords(("SELECT", "VALUES", "WITH"))
    found: Iterable[Candidate] = _columns_in_scope(cursor.sources, known)
    aliases = (
        Candidate(one.alias, "alias", one.source)
        for one in cursor.sources
        if one.alias and known.source(one.source)
    )
    pseudo = (Candidate(one, "column", "pseudo-column") for one in BESIDE)
    return (*found, *aliases, *_functions(known), *pseudo, *_keywords(CLAUSES))


def _columns_in_scope(sources: tuple[Named, ...], known: Vocabulary) -> Iterator[Candidate]:
    """Yield the columns of the named sources; of all sources if the statement names none yet.

    A column that two sources have needs the name of its source.
    """
    named = [
        (one.alias or _quoted(found.name), found)
        for one in sources
        if (found := known.source(one.source))
    ]
    if not sources:
        for source in known.sources.values():
            yield from (_column(one, source) for one in source.columns)
        return
    counts: dict[str, int] = {}
    for _, source in named:
        for column in source.columns:
            counts[column.name] = counts.get(column.name, 0) + 1
    for called, source in named:
        for column in source.columns:
            one = _column(column, source)
            if counts[column.name] > 1:
                one = replace(one, text=f"{called}.{one.text}")
            yield one


def _columns_of(name: str, sources: tuple[Named, ...], known: Vocabulary) -> Iterable[Candidate]:
    """Return the columns of a source, given by its name or alias."""
    source = _source_called(name, sources, known)
    if source is None:
        # Not a source, so it may be a column whose fields come after a point, as in other SQL.
        return ()
    return [_column(one, source) for one in source.columns]


def _source_called(name: str, sources: tuple[Named, ...], known: Vocabulary) -> NamedSource | None:
    for one in sources:
        if one.called.upper() == name.upper():
            return known.source(one.source)
    return known.source(name)


def _fields(
    path: tuple[str, ...], sources: tuple[Named, ...], known: Vocabulary
) -> Iterable[Candidate]:
    """Return the fields of a STRUCT, by the path to it."""
    if not path:
        return ()
    found: NamedColumn | None = None
    rest = path[1:]
    qualified = _source_called(path[0], sources, known) if rest else None
    if qualified is not None and (found := qualified.column(rest[0])):
        rest = rest[1:]
    else:
        named = (known.source(one.source) for one in sources)
        columns = (one.column(path[0]) for one in named if one is not None)
        found = next((one for one in columns if one is not None), None)
    for name in rest:
        found = found and field_named(found, name)
    fields = () if found is None else found.fields
    return [Candidate(_quoted(one.name), "field", one.type) for one in fields]


def _column(column: NamedColumn, source: NamedSource) -> Candidate:
    role = f" {column.role}" if column.role else ""
    return Candidate(_quoted(column.name), "column", f"{column.type}{role} · {source.name}")


def _sources(kind: str, known: Vocabulary) -> Iterator[Candidate]:
    for source in known.sources.values():
        if not kind or source.kind == kind:
            columns = ", ".join(f"{one.name} {one.type}" for one in source.columns[:_SHOWN_COLUMNS])
            more = ", …" if len(source.columns) > _SHOWN_COLUMNS else ""
            of: CandidateKind = "table" if source.kind == "TABLE" else "stream"
            yield Candidate(_quoted(source.name), of, f"topic {source.topic}", f"{columns}{more}")


_SHOWN_COLUMNS: Final = 12


def _functions(known: Vocabulary) -> Iterator[Candidate]:
    for one in known.functions:
        first = one.signatures[0].removeprefix(one.name) if one.signatures else ""
        more = "\n".join(one.signatures) if len(one.signatures) > 1 else ""
        told = "\n\n".join(part for part in (one.description, more) if part)
        yield Candidate(one.name, "function", first, told)


def _topics(known: Vocabulary) -> Iterator[Candidate]:
    return (Candidate(name, "topic") for name in known.topics)


def _types(known: Vocabulary) -> Iterator[Candidate]:
    yield from (Candidate(name, "type") for name in TYPES)
    yield from (Candidate(_quoted(name), "type", "custom type") for name in known.types)


def _properties(cursor: Cursor) -> Iterator[Candidate]:
    given = set(cursor.words)
    return (Candidate(name, "property") for name in PROPERTIES if name not in given)


def _values(values: Iterable[str]) -> Iterator[Candidate]:
    return (Candidate(value, "value") for value in values)


def _keywords(words: Iterable[str]) -> Iterator[Candidate]:
    return (Candidate(word, "keyword") for word in words)


def _quoted(name: str) -> str:
    """Return a name as statements write it: in backquotes unless it is a plain one."""
    plain = name.isascii() and name.isupper() and name.isidentifier() and name not in RESERVED
    return name if plain else f"`{name}`"


def _unquoted(name: str) -> str:
    return name.strip('`"')


def _in_quotes(text: str) -> str:
    return text if text.startswith("`") else f"`{text}`"
