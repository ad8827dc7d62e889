"""An engine with given answers."""

from collections.abc import Iterator
from typing import Any

from duolog.ksql.errors import Place, SqlError
from duolog.runtime.sql.answers import Answer, Message, Rows

FLIGHTS = (("CARRIER", "STRING"), ("FLIGHTS", "BIGINT"))


class FakeEngine:
    """Answers each statement by its first word."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.closed: list[str] = []

    def execute(self, text: str) -> Iterator[Answer]:
        self.texts.append(text)
        match text.split(maxsplit=1)[0].rstrip(";").upper():
            case "SHOW":
                yield Rows(FLIGHTS, iter([("AA", 32729), (None, 7)]), title="Flights")
            case "WIDE":
                yield Rows(FLIGHTS, iter([("American Airlines", 32729)]))
            case "NONE":
                reason = "no rows yet: query CTAS_N_1 is starting"
                yield Rows(FLIGHTS, iter([]), why_none=lambda: reason)
            case "PUSH":
                yield Rows(FLIGHTS, self._endless(), unbounded=True)
            case "FAIL":
                raise SqlError("FLIGTHS does not exist.", at=Place(1, 6, 5, 12), statement=text)
            case _:
                yield Message("done")

    def _endless(self) -> Iterator[tuple[Any, ...]]:
        try:
            yield ("AA", 1)
            raise KeyboardInterrupt
        finally:
            self.closed.append("rows")
