"""One validation: its problems, what it has accepted, and its limits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema.documents import Node, Resource

Value: TypeAlias = object
"""A JSON value: None, bool, int, float, Decimal, str, or a list or dict of these."""

_REMEMBERED_MAX = 10_000
_STEPS_MAX = 10_000_000


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why a value is invalid.

    Attributes:
        message: what is wrong.
        steps: the way to the place in the value, from there to the root.
    """

    message: str
    steps: tuple[str, ...] = ()

    def below(self, step: str) -> "Problem":
        """Return the problem as seen from the value above."""
        return Problem(self.message, (*self.steps, step[:100]))

    @property
    def path(self) -> str:
        """The JSON pointer of the place in the value."""
        return "/".join(["#", *reversed(self.steps)])

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(slots=True)
class Evaluated:
    """The properties and items of one value that a keyword has accepted."""

    names: set[str] = field(default_factory=set)
    items: set[int] = field(default_factory=set)
    all_items: bool = False

    def merge(self, other: "Evaluated") -> None:
        self.names |= other.names
        self.items |= other.items
        self.all_items = self.all_items or other.all_items


Check: TypeAlias = Callable[[Value, "Run", Evaluated | None], Problem | None]
"""Checks a value; adds what it accepts to the last argument, if there is one."""

Checks: TypeAlias = tuple[tuple[Check, ...], bool]
"""The checks of a schema; True if one of them asks what the others have accepted."""


class Run:
    """One validation of one value.

    Attributes:
        formats: check `format`, too.
        scope: the resources that were entered, outermost first.
    """

    def __init__(self, checks: Callable[[Node], Checks], *, formats: bool, dynamic: bool) -> None:
        self.formats = formats
        self._checks = checks
        self._dynamic = dynamic  # A reference depends on the way to it.
        self.scope: list[Resource] = []
        self._steps = 0
        self._remembered: dict[tuple[int, int], tuple[Problem | None, Evaluated | None]] = {}

    def check(self, node: Node, value: Value, evaluated: Evaluated | None = None) -> Problem | None:
        """Return the first problem of a value under a schema."""
        if isinstance(node.raw, bool):
            return None if node.raw else Problem("no value is allowed here")
        self._steps += 1
        if self._steps > _STEPS_MAX:
            raise InvalidSchemaError(
                "the schema is too complex to validate a value",
                detail=f"The validation takes more than {_STEPS_MAX} steps.",
            )
        if self.scope and self.scope[-1] is node.resource:
            return self._run(node, value, evaluated)
        self.scope.append(node.resource)
        try:
            return self._run(node, value, evaluated)
        finally:
            self.scope.pop()

    def check_once(self, node: Node, value: Value, evaluated: Evaluated | None) -> Problem | None:
        """Do what `check` does, and remember the result for this value."""
        if self._dynamic:
            return self.check(node, value, evaluated)
        key = id(node.raw), id(value)
        if key in self._remembered:
            problem, known = self._remembered[key]
            if evaluated is None or problem is not None:
                return problem
            if known is not None:
                evaluated.merge(known)
                return None
        own = None if evaluated is None else Evaluated()
        problem = self.check(node, value, own)
        if len(self._remembered) >= _REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[key] = problem, own
        if evaluated is not None and own is not None and problem is None:
            evaluated.merge(own)
        return problem

    def _run(self, node: Node, value: Value, evaluated: Evaluated | None) -> Problem | None:
        checks, collects = self._checks(node)
        own = Evaluated() if collects else evaluated
        for check in checks:
            problem = check(value, self, own)
            if problem is not None:
                return problem
        if collects and evaluated is not None and own is not None:
            evaluated.merge(own)
        return None
