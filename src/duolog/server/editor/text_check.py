"""Check a text of statements: parse and bind each in order, and run none.

    text ─▶ statements ─▶ syntax ─▶ rights ─▶ bound on a copy of the catalog ─▶ diagnostics

A later statement sees what the earlier ones declare. A stream that a broken statement would have
declared is not reported as missing later. Names that the client may not see do not exist here, as
elsewhere. A check leaves no line in the audit log: the client has asked for nothing yet.

Limits: those of `Amount`, and a time after which the remaining statements are not checked.
"""

import re
import time
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from sqlglot import exp

from duolog.core.errors import DuologError
from duolog.ksql import settings
from duolog.ksql.editor.error_texts import meant, without_place, without_statement, word_at
from duolog.ksql.editor.likely_mistakes import likely_mistakes
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.amounts import Amount
from duolog.ksql.syntax.script import is_blank, parsed, placed_pieces
from duolog.runtime.sql.checking import bind, nothing_registered
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.client import Right
from duolog.server.access.guarded_session import Trial
from duolog.server.editor.places import Places, Substituted
from duolog.server.editor.statement_kinds import change_of, kind_of

Json = dict[str, Any]
VERSION: Final = 1
DIAGNOSTICS_MAX: Final = 200
_BEFORE: Final = re.compile(r"(?:\s++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)*+")
_TOKEN: Final = re.compile(r"'(?:[^']|'')*+'?|`[^`]*+`?|\"[^\"]*+\"?|[\w$]++|\S")
_CREATED: Final = re.compile(
    r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:SOURCE\s+|GLOBAL\s+)?(?:STREAM|TABLE)\s+"
    r"(?:IF\s+NOT\s+EXISTS\s+)?(`[^`]+`|\w+)",
    re.IGNORECASE,
)
_MISSING: Final = re.compile(r"'?`?([\w-]+)`?'? (?:does not exist|in the Metastore)")
_EXISTS: Final = "with the same name already exists"
_QUOTED: Final = re.compile(r"[`'\"]([\w$ .-]+)[`'\"]")
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding; places are characters of the text."""

    start: int
    end: int
    severity: Severity
    rule: str
    message: str
    detail: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """The place of a statement, without the comments before it, and its kind."""

    start: int
    end: int
    kind: str
    change: dict[str, str | None] | None = None


@dataclass(slots=True)
class Checked:
    """The result of a check.

    Attributes:
        complete: False if the time was over, or the text too large, before its end.
    """

    statements: list[Statement] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    complete: bool = True

    def note_session(self, problem: str) -> None:
        """Add, as the first finding, why the properties of the session do not count."""
        message, _, hint = problem.partition("\n")
        self.diagnostics.insert(0, Diagnostic(0, 0, "error", "session", message, hint=hint))

    def json(self, text: str) -> Json:
        """Return the result as JSON; places are UTF-16 code units."""
        places = Places(text)
        return {
            "version": VERSION,
            "complete": self.complete,
            "statements": [
                {
                    "start": places.json(one.start),
                    "end": places.json(one.end),
                    "kind": one.kind,
                    "change": one.change,
                }
                for one in self.statements
            ],
            "diagnostics": [
                {
                    "start": places.json(one.start),
                    "end": places.json(one.end),
                    "severity": one.severity,
                    "rule": one.rule,
                    "message": one.message,
                    "detail": one.detail,
                    "hint": one.hint,
                }
                for one in self.diagnostics[:DIAGNOSTICS_MAX]
            ],
        }


class TextCheck:
    """One check.

    Args:
        trial: a session over a copy of the catalog that the client may see.
        deadline_s: the time, as of `time.monotonic`, after which no statement is begun.
    """

    def __init__(self, trial: Trial, deadline_s: float) -> None:
        self._trial = trial
        # The trial would refuse statements, and note that in the audit log.
        self._session = SqlSession(of_tests=False)
        self._session.state = trial.state
        self._deadline_s = deadline_s
        self._found = Checked()
        self._failed: set[str] = set()
        self._start = 0
        self._replaced = Amount()

    def run(self, text: str) -> Checked:
        """Check a text."""
        amount, start = Amount(), 0
        with nothing_registered():
            for piece in placed_pieces(text):
                self._start, start = start, start + len(piece.text)
                if is_blank(piece.text):
                    continue
                if time.monotonic() > self._deadline_s:
                    self._found.complete = False
                    break
                try:
                    amount.take(piece.text)
                except SqlError as error:
                    self._report(error, Substituted(piece.text, {}))
                    self._found.complete = False
                    break
                self._check(piece.text)
        return self._found

    def _check(self, piece: str) -> None:
        written = Substituted(piece, {})
        written.unknown.clear()
        try:
            written = self._written(piece)
            found = self._parsed(written, piece)
        except SqlError as error:
            self._note(piece, "unknown")
            self._forgive(written.text)
            if not self._report_unknown(written):
                self._report(error, written)
            return
        for node, source in found:
            self._note(piece, kind_of(node), change_of(node))
            self._warn(node, written)
            try:
                self._bind(node, source)
            except DuologError as error:
                self._forgive(written.text)
                if not self._is_forgiven(error):
                    self._report(error, written)

    def _parsed(self, written: Substituted, piece: str) -> list[tuple[exp.Expression, str]]:
        if written.text != piece:
            self._replaced.take(written.text)
        found = parsed(written.text)
        if len(found) > 1:
            raise SqlError(
                f"the values of variables make {len(found)} statements of one",
                hint="Use values without a semicolon, or put the variable in quotes.",
            )
        return found

    def _written(self, piece: str) -> Substituted:
        state = self._trial.state
        enabled = state.settings.truth(settings.SUBSTITUTION)
        return Substituted(piece, state.variables if enabled else {})

    def _bind(self, node: exp.Expression, source: str) -> None:
        lacking = self._trial.lacking(node)
        if lacking is not None and not self._is_hidden(lacking):
            raise _no_right(lacking)
        bind(self._session, node, source)
        lacking = lacking or self._trial.lacking(node, after=True)
        if lacking is not None:
            # Its columns may come from the schema of a topic that the client may not read.
            self._trial.state.catalog.sources.pop(node.this.name, None)
            raise _no_right(lacking)

    def _is_hidden(self, right: Right) -> bool:
        """Return whether a right is about a name that is not in the catalog that the client sees.

        The binder reports such a name, the same way whether it exists or not.
        """
        catalog = self._trial.state.catalog
        match right.operation, right.resource:
            case Operation.READ | Operation.DESCRIBE, ResourceType.SOURCE:
                return right.name.partition(".")[2] not in catalog.sources
            case Operation.READ | Operation.DESCRIBE, ResourceType.TOPIC:
                return right.name not in catalog.partitions
            case _:
                return False

    def _note(self, piece: str, kind: str, change: dict[str, str | None] | None = None) -> None:
        before = _BEFORE.match(piece)
        skipped = before.end() if before else 0
        end = self._start + len(piece.rstrip())
        self._found.statements.append(Statement(self._start + skipped, end, kind, change))

    def _warn(self, node: exp.Expression, written: Substituted) -> None:
        for one in likely_mistakes(node):
            start, end = self._span(written, one.at.line, one.at.column)
            self._add(Diagnostic(start, end, "warning", one.rule, one.text))
        if isinstance(node, nodes.SetProperty):
            told = self._trial.state.settings.without_effect(node.this.name)
            if told:
                start, end = self._named(written, node.this.name)
                self._add(Diagnostic(start, end, "warning", "without-effect", told))

    def _report_unknown(self, written: Substituted) -> bool:
        """Report variables without a value, which explain a syntax error."""
        for name, at in written.unknown:
            start = self._start + at
            self._add(
                Diagnostic(
                    start,
                    start + len(name) + len("${}"),
                    "error",
                    "undefined-variable",
                    f"the variable {name} has no value",
                    hint=f"Write DEFINE {name} = '…'; before it, or set it for the session.",
                )
            )
        return bool(written.unknown)

    def _report(self, error: DuologError, written: Substituted) -> None:
        message = without_place(without_statement(error.message)).strip()
        hint, rule, at = error.hint, "statement", None
        if isinstance(error, SqlError):
            rule, at = error.kind, error.at
        if at is None:
            start, end = self._named(written, *_QUOTED.findall(message))
        else:
            start, end = self._span(written, at.line, at.column)
            if not hint and "Did you mean" not in message:
                names = self._trial.state.catalog.sources
                hint = meant(word_at(written.text, at.line, at.column), names)
        message = message or "this is not expected here"
        # A definition that was run stays in the editor: it is not wrong, but cannot run twice.
        severity: Severity = "warning" if message.endswith(_EXISTS) else "error"
        self._add(Diagnostic(start, end, severity, rule, message, error.detail, hint))

    def _add(self, found: Diagnostic) -> None:
        if len(self._found.diagnostics) < DIAGNOSTICS_MAX:
            self._found.diagnostics.append(found)

    def _span(self, written: Substituted, line: int, column: int) -> tuple[int, int]:
        """Return the token at a place of a statement, as a place of the text."""
        text = written.text
        begin = 0
        for _ in range(line - 1):
            begin = text.find("\n", begin) + 1
        begin = max(0, min(begin + column - 1, len(text)))
        token = _TOKEN.match(text, begin)
        end = token.end() if token else begin
        if end == begin:  # The end of the text: mark the token before it.
            begin, end = _last_token(text, begin)
        return self._origin(written, begin, end)

    def _named(self, written: Substituted, *names: str) -> tuple[int, int]:
        """Return the first of some names that a statement has; its first token if it has none."""
        upper = written.text.upper()
        for name in names:
            found = re.search(rf"(?<![\w$]){re.escape(name.upper())}(?![\w$])", upper)
            if found and len(upper) == len(written.text):
                return self._origin(written, *found.span())
        before = _BEFORE.match(written.text)
        begin = before.end() if before else 0
        token = _TOKEN.match(written.text, begin)
        return self._origin(written, begin, token.end() if token else begin)

    def _origin(self, written: Substituted, begin: int, end: int) -> tuple[int, int]:
        start = written.origin(begin)[0]
        last = written.origin(max(begin, end - 1))
        stop = last[1] if last[1] > last[0] else last[0] + 1
        return self._start + start, self._start + max(stop, start)

    def _forgive(self, text: str) -> None:
        """Note the source that a broken statement would have declared."""
        skipped = _BEFORE.match(text)
        created = _CREATED.match(text, skipped.end() if skipped else 0)
        if created:
            name = created[1]
            self._failed.add(name.strip("`") if name.startswith("`") else name.upper())

    def _is_forgiven(self, error: DuologError) -> bool:
        missing = _MISSING.search(error.message)
        return missing is not None and missing[1] in self._failed


def _last_token(text: str, end: int) -> tuple[int, int]:
    found = (0, end)
    for token in _TOKEN.finditer(text, 0, end):
        found = token.span()
    return found


def _no_right(right: Right) -> SqlError:
    resource = right.resource.name.lower()
    what = f'{resource} "{right.name}"' if right.name else f"all {resource}s"
    return SqlError(
        f"you have no right to {right.operation.name.lower().replace('_', ' ')} {what}",
        hint="Ask an administrator for an ACL that allows it.",
    )
