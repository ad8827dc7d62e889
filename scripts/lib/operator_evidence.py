"""List the evidence for each DSL operator: its tests, and its throughput.

    `shown_operators`, a row for each feature ──► the table of docs/reference/streams.md

The tests of a row must exist and must call its operators, themselves or in test modules that they
import. The verifying test must call all of them, the running test at least one. The modes of an
operator are derived from the text of the running test. A figure appears if `bench/results/`
contains it. An operator without a row is an error.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = ROOT / "tests"
RESULTS: Final = ROOT / "bench/results"

_KAFKA_STREAMS: Final = re.compile(r"\bkafka_streams\b|\bcomparison\b")
_REFERENCE: Final = re.compile(r"(?i)\breference|_reference_")
_MODES: Final = {
    "micro-batch": re.compile(r"micro-batch|record cache|TWO_STARTS"),
    "real time": re.compile(r"real-time|real time|TWO_STARTS"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A feature of some operators and its evidence.

    Attributes:
        what: the feature as users write it.
        operators: the operators, such as `Stream.join`.
        verified_by: the test that verifies the results, `file::test` in `tests/`.
        runs: the test that runs it in its modes.
        figures: files in `bench/results/` with its throughput relative to Kafka Streams.
        differs: the difference from Kafka Streams, if any.
    """

    what: str
    operators: str
    verified_by: str
    runs: str
    figures: tuple[str, ...] = ()
    differs: str = ""


@dataclass(frozen=True, slots=True)
class Test:
    """A test named in a row."""

    file: Path
    name: str
    source: str
    """Its source text, with decorators."""

    def link(self, text: str) -> str:
        return f"[{text}](../../{self.file.relative_to(ROOT)})"

    @property
    def oracle(self) -> str:
        """The reference for the expected results."""
        if _KAFKA_STREAMS.search(self.source):
            return "Kafka Streams: "
        return "reference evaluator: " if _REFERENCE.search(self.source) else ""

    @property
    def modes(self) -> str:
        return ", ".join(name for name, words in _MODES.items() if words.search(self.source))


def find_test(named: str) -> Test:
    """Return the test named `conformance/test_x.py::test_y`.

    Raises:
        LookupError: it does not exist.
    """
    path, _, name = named.partition("::")
    file = TESTS / path
    if file.is_file():
        text = file.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                lines = text.splitlines()[first - 1 : node.end_lineno]
                return Test(file, name, "\n".join(lines))
    raise LookupError(
        f"tests/{named} does not exist: update its name in scripts/lib/operator_evidence.py"
    )


def ensure_shown(rows: Iterable[Shown], ours: Iterable[str]) -> None:
    """Raise a LookupError if an operator of `ours` has no row, or a test does not use it."""
    shown = list(rows)
    known = {operator for row in shown for operator in row.operators.split()} | set(NO_RESULT)
    wanted = set(ours)
    if missing := sorted(wanted - known):
        raise LookupError(
            f"{', '.join(missing)}: add to SHOWN in scripts/lib/shown_operators.py, with the "
            "test that verifies it"
        )
    if gone := sorted(known - wanted):
        raise LookupError(f"{', '.join(gone)}: there is no such operator (SHOWN)")
    for row in shown:
        unknown = _unknown_to(row.verified_by, row)
        if unknown:
            raise LookupError(
                f"tests/{row.verified_by} does not call {', '.join(unknown)}: it cannot verify it"
            )
        if len(_unknown_to(row.runs, row)) == len(row.operators.split()):
            raise LookupError(f"tests/{row.runs} calls none of {row.operators}: it cannot run it")


def evidence_table(rows: Iterable[Shown]) -> str:
    """Return the rows as a table for a page in `docs/`."""
    lines = [
        "| operator | mode | verified by | throughput | difference from Kafka Streams |",
        "|---" * 5 + "|",
    ]
    for row in rows:
        verified_by, runs = find_test(row.verified_by), find_test(row.runs)
        mode = runs.link(runs.modes) if runs.modes else ""
        oracle = verified_by.oracle + verified_by.link(
            verified_by.name.removeprefix("test_").replace("_", " ")
        )
        figure = "; ".join(_figures(row.figures))
        lines.append(f"| {row.what} | {mode} | {oracle} | {figure} | {row.differs} |")
    return "\n".join(lines)


def _figures(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        file = RESULTS / f"{name}.json"
        if file.is_file():
            kept = json.loads(file.read_text())
            low, high = kept["ratio_min_max"]
            yield f"{kept['ratio_median']} ({low} to {high}), `{kept['command']}`"


def _unknown_to(named: str, row: Shown) -> list[str]:
    """Return the operators of a row that a test does not call."""
    text = _text_around(find_test(named).file)
    return [
        operator
        for operator in row.operators.split()
        if not re.search(rf"\.{operator.partition('.')[2]}\b", text)
    ]


@cache
def _text_around(file: Path) -> str:
    """Return the text of a test file and of the test modules that it imports."""
    seen: dict[Path, str] = {}
    waiting = [file]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen[path] = path.read_text()
        for module, names in re.findall(r"^from ([\w.]+) import (.*)", seen[path], re.MULTILINE):
            package = TESTS / module.replace(".", "/")
            imported = [package / f"{name}.py" for name in re.findall(r"\w+", names)]
            waiting += [one for one in (package.with_suffix(".py"), *imported) if one.is_file()]
    return "\n".join(seen.values())


NO_RESULT: Final = ("Topology.build",)
"""Operators that produce no records."""
