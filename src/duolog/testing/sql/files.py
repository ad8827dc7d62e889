"""Files of tests in SQL: where each begins, what it is called, and whether it must fail."""

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
    """A test: its statements stand on the lines of the file where they are."""

    file: str
    line: int
    name: str
    text: str
    expected_error: str | None = None
    """The class of the error that must come, as its author's system calls it: any error is one."""
    expected_message: str | None = None
    """What the message of that error has in it."""

    @property
    def fails(self) -> bool:
        """Whether a statement of it must fail."""
        return self.expected_error is not None or self.expected_message is not None


def read_tests(text: str, file: str) -> Iterator[SqlTest]:
    """Yield the tests of a file.

    Raises:
        StatementError: a line that begins with --@ is none of those that there are, or there is no test.
    """
    lines = text.splitlines()
    begins = [number for number, line in enumerate(lines) if _directive(line)[0] == _TEST]
    if not begins:
        raise StatementError(
            f'no test in "{file}"', hint="Each test begins with a line `--@test: NAME`."
        )
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        told: dict[str, str] = {}
        for number in range(begin, end):
            name, value = _directive(lines[number])
            if name and name not in _KNOWN:
                raise StatementError(
                    f"{file}:{number + 1}: there is no --@{name}",
                    hint=f"There are {', '.join(f'--@{one}' for one in _KNOWN)}.",
                )
            if name:
                told[name] = value
        yield SqlTest(
            file,
            begin + 1,
            told[_TEST],
            "\n" * begin + "\n".join(_statements(lines[begin:end])) + "\n",
            told.get("expected.error"),
            told.get("expected.message"),
        )


def _statements(lines: Sequence[str]) -> list[str]:
    """Return lines without directives: an error that repeats its statement must not repeat what it should say."""
    return ["" if _directive(line)[0] else line for line in lines]


def _directive(line: str) -> tuple[str, str]:
    found = _DIRECTIVE.match(line)
    return (found[1].lower(), found[2]) if found else ("", "")
