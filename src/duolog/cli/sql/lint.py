"""Find errors and likely mistakes in a file of statements.

error      a statement fails; statements are run against an empty catalog, without a broker
warning    a statement works but is probably a mistake

The comment `-- lint: ignore RULE` suppresses the warnings of a rule on its line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from duolog.cli.sql.error_report import lines_of
from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.editor.likely_mistakes import likely_mistakes
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.script import is_blank, parse, placed_pieces, substituted, uses_variables

_DEFINE: Final = re.compile(r"\bDEFINE\s+(\w+)\s*=", re.IGNORECASE)
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_IGNORED: Final = re.compile(r"--\s*lint:\s*ignore\b([\w ,-]*)")
_MISSING: Final = re.compile(r"'?`?([\w-]+)`?'? (?:does not exist|in the Metastore)")


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """An error or a likely mistake with its position."""

    line: int
    column: int
    level: Literal["error", "warning"]
    rule: str
    text: str

    def render(self, file: str) -> str:
        """Return the finding as a line in the format that editors recognize."""
        return f"{file}:{self.line}:{self.column}: {self.level}: {self.text} [{self.rule}]"


def findings_of(text: str, catalog: Catalog | None = None) -> list[Finding]:
    """Return the findings in a text in line order; `catalog` is the initial catalog."""
    found = [*_variables(text), *_statements(text, catalog)]
    ignored = {
        number: set(re.findall(r"[\w-]+", comment[1]))
        for number, line in enumerate(text.splitlines(), 1)
        if (comment := _IGNORED.search(line))
    }
    return sorted(
        one
        for one in set(found)
        if one.level == "error"
        or one.line not in ignored
        or (ignored[one.line] and one.rule not in ignored[one.line])
    )


def _statements(text: str, catalog: Catalog | None) -> Iterator[Finding]:
    session = SqlSession(catalog)
    failed: set[str] = set()
    for piece in placed_pieces(text):
        if not is_blank(piece.text):
            for one in _of_statement(piece.text, session, failed):
                column = one.column + (piece.columns if one.line == 1 else 0)
                yield replace(one, line=one.line + piece.lines, column=column)


def _of_statement(text: str, session: SqlSession, failed: set[str]) -> Iterator[Finding]:
    """Run a statement, and yield what is found, with places in its text."""
    written = substituted(text, session.state.variables)
    if uses_variables(written):
        return  # The undefined variable is reported instead.
    try:
        found = parse(written)
    except SqlError as error:
        yield _of_error(error, written)
        return
    for node in found:
        for mistake in likely_mistakes(node):
            at = mistake.at
            yield Finding(at.line, at.column, "warning", mistake.rule, mistake.text)
        try:
            session.execute(node, written.strip())
        except SqlError as error:
            missing = _MISSING.search(error.message)
            if missing is None or missing[1] not in failed:
                yield _of_error(error, written)
            if isinstance(node, nodes.CreateSource):
                failed.add(node.this.name)


def _of_error(error: SqlError, text: str) -> Finding:
    at = error.at
    line, column = (at.line, at.column) if at else _begin(text)
    plain = lines_of(error, text, caret=False)
    told = re.sub(r"^line \d+:\d+: ", "", "; ".join(plain))
    return Finding(line, column, "error", error.kind, told)


def _begin(text: str) -> tuple[int, int]:
    """Return the position of the first statement in a text."""
    before = text[: len(text) - len(text.lstrip())]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _variables(text: str) -> Iterator[Finding]:
    """Yield undefined variables and unused ones."""
    defined = {found[1].upper(): found for found in _DEFINE.finditer(text)}
    used = {found[1].upper(): found for found in reversed(list(_VARIABLE.finditer(text)))}
    for name in used.keys() - defined.keys():
        told = f"${{{used[name][1]}}} is not defined here"
        yield Finding(*_place(text, used[name].start()), "warning", "undefined-variable", told)
    for name in defined.keys() - used.keys():
        told = f"{defined[name][1]} is never used"
        yield Finding(*_place(text, defined[name].start(1)), "warning", "unused-variable", told)


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
