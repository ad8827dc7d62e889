"""The walk over two schemas that finds their differences.

A rule compares two shapes and yields each pair of schemas below them that it needs the differences
of. The walk runs rules on a stack of its own, so the nesting of schemas and the length of chains of
references have no limit here.

    rule(object A, object B) ── yields (A.name, B.name) ──► walk ── rule(string, string)
                             ◄───── their differences ──────

- The differences of a pair are found once, and kept with paths relative to the pair.
- A pair that is met again below itself has no differences yet: it is taken to be compatible. If it
  turns out to be incompatible, the walk starts again and remembers that, until nothing changes.
- The number of pairs is limited, because branches of combinations are compared each with each.

Source: the rules of Confluent's registry.
"""

from typing import TypeAlias

from duolog.schemas.json_schema.compatibility.kinds import Difference
from duolog.schemas.json_schema.compatibility.rules import compare
from duolog.schemas.json_schema.compatibility.steps import Context, Differences, Schema, Steps
from duolog.schemas.json_schema.shapes import resolved
from duolog.schemas.schema import Policy

_Key: TypeAlias = tuple[int, int]


def differences(
    writer: Schema, reader: Schema, policy: Policy, *, everything: bool = False
) -> Differences:
    """Return the differences between the schema of a writer and the schema of a reader.

    Args:
        writer: the schema that values were written with.
        reader: the schema that they are read with.
        policy: what is compatible.
        everything: return compatible differences, too.

    Raises:
        InvalidSchemaError: the comparison takes too many steps.
    """
    context = Context(policy, everything=everything)
    incompatible: dict[_Key, Differences] = {}
    while True:
        walk = _Walk(context, incompatible)
        result = walk.run(writer, reader)
        known = walk.incompatible()
        if not walk.assumed or known.keys() == incompatible.keys():
            return result
        incompatible = known


class _Walk:
    """One pass over a pair of schemas.

    Attributes:
        assumed: True if a pair was taken to be compatible because it was met below itself.
    """

    def __init__(self, context: Context, incompatible: dict[_Key, Differences]) -> None:
        self.assumed = False
        self._context = context
        self._known = incompatible
        self._done: dict[_Key, Differences] = {}
        self._stack: list[tuple[_Key, Steps]] = []
        self._open: set[_Key] = set()

    def run(self, original: Schema, update: Schema) -> Differences:
        result = self._begin(original, update)
        while self._stack:
            key, steps = self._stack[-1]
            try:
                result = self._begin(*(next(steps) if result is None else steps.send(result)))
            except StopIteration as finished:
                self._stack.pop()
                self._open.discard(key)
                result = self._done[key] = finished.value
        assert result is not None
        return result

    def incompatible(self) -> dict[_Key, Differences]:
        """Return the pairs that are incompatible, with their differences."""
        return {
            key: found for key, found in self._done.items() if not self._context.compatible(found)
        }

    def _begin(self, original: Schema | None, update: Schema | None) -> Differences | None:
        """Return the differences of a pair, or put its rule on the stack and return None."""
        self._context.budget.spend()
        if original is None or update is None:
            if original is update:
                return []
            return [Difference("SCHEMA_ADDED" if original is None else "SCHEMA_REMOVED")]
        left, right = resolved(original), resolved(update)
        key = id(left), id(right)
        if key in self._done:
            return self._done[key]
        if key in self._open:
            if key not in self._known:
                self.assumed = True
            return self._known.get(key, [])
        self._open.add(key)
        self._stack.append((key, compare(self._context, left, right)))
        return None
