"""Validates values of one schema."""

from duolog.schemas.json_schema.documents import Documents, Node
from duolog.schemas.json_schema.validation.keywords import checks_of
from duolog.schemas.json_schema.validation.run import Checks, Problem, Run, Value


class Validator:
    """Validates values of one schema."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._checks: dict[int, Checks] = {}
        self._dynamic = any(
            node.draft.modern
            and isinstance(node.raw, dict)
            and not node.raw.keys().isdisjoint({"$dynamicRef", "$recursiveRef"})
            for node in documents.nodes()
        )

    def problem(self, value: Value, *, formats: bool = False) -> Problem | None:
        """Return the first problem of a value; None if it is valid.

        Raises:
            InvalidSchemaError: a `$ref` of an unchecked schema leads nowhere, or the validation
                takes too many steps.
        """
        try:
            run = Run(self._checks_of, formats=formats, dynamic=self._dynamic)
            return run.check(self._documents.root, value)
        except RecursionError:
            return Problem("the value is nested too deep")

    def _checks_of(self, node: Node) -> Checks:
        found = self._checks.get(id(node.raw))
        if found is None:
            found = self._checks[id(node.raw)] = checks_of(self._documents, node)
        return found
