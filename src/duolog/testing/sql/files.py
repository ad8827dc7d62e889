"""Reads files of SQL tests: the position and name of each test, and its expected error."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from duolog.core.errors import StatementError

_DIRECTIVE: Final = re.compile(r"\s*--\s*@([\w.]+)\s*:\s?(.*?)\s*\Z")
_TEST: Final = "test"
_KNOWN: Final = (_TEST, "expected.error", "expected.message")


@dataclass(frozen=True, slots=True)
class SqlTest:
    """A test; its statements keep their line numbers in the file."""

    file: str
    line: int
    name: str
    text: str
    expected_error: str | None = None
    """The class of the expected error, in the author's system: here any error matches."""
    expected_message: str | None = None
    """A text in the message of the expected error."""

    @property
    def fails(self) -> bool:
        """True if one of its statements must fail."""
        return self.expected_error is not None or self.expected_message is not None


def read_tests(text: str, file: str) -> Iterator[SqlTest]:
    """Yield the tests of a file.

    Raises:
        StatementError: a line starts with an unknown --@ directive, or there is no test.
    """
    lines = text.splitlines()
    begins = [number for number, line in enumerate(lines) if _directive(line)[0] == _TEST]
    if not begins:
        raise StatementError(
            f'no test in "{file}"', hint="Start each test with a line `--@test: NAME`."
        )
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        directives: dict[str, str] = {}
        for number in range(begin, end):
            name, value = _directive(lines[number])
            if name and name not in _KNOWN:
                raise StatementError(
                    f"{file}:{number + 1}: unknown directive --@{name}",
                    hint=f"Use {', '.join(f'--@{one}' for one in _KNOWN)}.",
                )
            if name:
                directives[name] = value
        yield SqlTest(
            file,
            begin + 1,
            directives[_TEST],
            "\n" * begin + "\n".join(_statements(lines[begin:end])) + "\n",
            directives.get("expected.error"),
            directives.get("expected.message"),
        )


def _statements(lines: Sequence[str]) -> list[str]:
    """Return lines without directives: errors quote the statement, not the expected text."""
    return ["" if _directive(line)[0] else line for line in lines]


def _directive(line: str) -> tuple[str, str]:
    found = _DIRECTIVE.match(line)
    return (found[1].lower(), found[2]) if found else ("", "")
