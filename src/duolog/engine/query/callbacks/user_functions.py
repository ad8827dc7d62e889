"""The Python functions of users that a query calls in this process."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from duolog.engine.query.callbacks.for_each_callbacks import Callback
from duolog.plan.expressions.key_functions import KeyFunction
from duolog.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class UserFunctions:
    """The functions of one query, by the names of their nodes."""

    calls: Mapping[str, Callback] = field(default_factory=dict)
    """The functions of `for_each`."""
    key_functions: Mapping[str, KeyFunction] = field(default_factory=dict)
    """The functions that choose partitions."""

    @classmethod
    def of(cls, plan: Plan) -> "UserFunctions":
        """Return the functions that a plan calls."""
        calls = {
            node.name: Callback.of(node, plan.places.get(node.name, "")) for node in plan.calls
        }
        return cls(calls, plan.key_functions)
