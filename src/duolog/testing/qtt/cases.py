"""The cases of a file: one JSON object a line, numbers as they are written."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """A script of statements, records for its topics, and what must come out."""

    file: str
    category: str
    name: str
    statements: tuple[str, ...]
    spec: dict[str, Any]

    @property
    def title(self) -> str:
        return f"{self.file} - {self.name}"

    @property
    def inputs(self) -> list[dict[str, Any]]:
        return list(self.spec.get("inputs", ()))

    @property
    def outputs(self) -> list[dict[str, Any]]:
        return list(self.spec.get("outputs", ()))

    @property
    def expected_error(self) -> dict[str, Any] | None:
        """What the last statement must fail with; the tests of the REST server have another word for it."""
        return self.spec.get("expectedException") or self.spec.get("expectedError")

    @property
    def asks_rows(self) -> bool:
        """Whether a SELECT must answer with rows, which is a matter of the server."""
        return any(key != "admin" for answer in self.spec.get("responses") or () for key in answer)

    @property
    def of_server(self) -> bool:
        """Whether it is a test of the REST server, which need not begin a query."""
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
