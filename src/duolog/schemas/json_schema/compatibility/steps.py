"""Tools that the rules of a comparison share: pairs, collected differences and a limit."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema.compatibility.kinds import Difference
from duolog.schemas.json_schema.shapes import SchemaAt, Shape
from duolog.schemas.schema import Policy

Differences: TypeAlias = list[Difference]
Schema: TypeAlias = SchemaAt | Shape
Pair: TypeAlias = tuple[Schema | None, Schema | None]
Steps: TypeAlias = Generator[Pair, Differences, Differences]
"""A rule at work: it yields pairs, is sent their differences, and returns its own."""

STEPS_MAX: Final = 200_000
DIFFERENCES_MAX: Final = 1000
"""Differences that are kept of a pair. A path for each use of a definition can be very many."""


@dataclass
class Budget:
    """The steps that a comparison may still take."""

    left: int = STEPS_MAX

    def spend(self, steps: int = 1) -> None:
        """Count steps.

        Raises:
            InvalidSchemaError: the comparison has taken too many.
        """
        self.left -= steps
        if self.left < 0:
            raise InvalidSchemaError(
                "the two schemas are too complex to compare",
                detail=f"The comparison takes more than {STEPS_MAX} steps, because it compares "
                "each branch of anyOf, allOf and oneOf with each branch of the other schema.",
                hint="Use fewer branches, or set the compatibility of the subject to NONE.",
            )


@dataclass
class Context:
    """The comparison that rules take part in.

    Attributes:
        policy: how strict it is.
        everything: keep compatible differences, too.
        budget: the steps that are left.
    """

    policy: Policy
    everything: bool = False
    budget: Budget = field(default_factory=Budget)

    def compatible(self, differences: Iterable[Difference]) -> bool:
        return all(difference.compatible(self.policy) for difference in differences)

    def found(self) -> "Found":
        return Found(self)


class Found:
    """Collects the differences of a pair."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.differences: Differences = []

    def add(self, kind: str, step: str = "") -> None:
        """Add a difference, one step below the pair."""
        self.extend([Difference(kind)], step)

    def extend(self, differences: Differences, step: str = "") -> None:
        """Add the differences of a pair one step below this pair."""
        context = self._context
        for difference in differences:
            if len(self.differences) >= DIFFERENCES_MAX:
                return
            if context.everything or not difference.compatible(context.policy):
                self.differences.append(difference.below(step) if step else difference)
