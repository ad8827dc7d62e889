"""Reads the cases of a file: one JSON object per line, numbers as written."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]
"""A parsed object of JSON."""


@dataclass(frozen=True)
class Case:
    """Statements, input records for their topics, and the expected output."""

    file: str
    category: str
    name: str
    statements: tuple[str, ...]
    spec: JsonObject

    @property
    def title(self) -> str:
        return f"{self.file} - {self.name}"

    @property
    def inputs(self) -> list[JsonObject]:
        return list(self.spec.get("inputs", ()))

    @property
    def outputs(self) -> list[JsonObject]:
        return list(self.spec.get("outputs", ()))

    @property
    def expected_error(self) -> JsonObject | None:
        """The expected error of the last statement; tests of the REST server call it otherwise."""
        return self.spec.get("expectedException") or self.spec.get("expectedError")

    @property
    def asks_rows(self) -> bool:
        """True if SELECTs must return rows, which the server does."""
        return any(key != "admin" for answer in self.spec.get("responses") or () for key in answer)

    @property
    def of_server(self) -> bool:
        """True for a test of the REST server, which may run without starting a query."""
        return self.spec.get("suite") == "RQTT"


def read_cases(files: Iterable[Path]) -> Iterator[Case]:
    """Yield the cases of files, in order."""
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip():
                spec = json.loads(line, parse_float=Decimal)
                yield Case(
                    spec.get("file", file.name),
                    spec.get("category", ""),
                    spec["name"],
                    tuple(spec["statements"]),
                    spec,
                )
