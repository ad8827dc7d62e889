"""A node of each kind, and the file that has them as they are written to the kernel."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from duolog.engine.lowering import lower
from duolog.engine.lowering.spec.node_spec import NodeSpec, Operator
from duolog.engine.lowering.spec.operators import FilterOperator

if TYPE_CHECKING:
    from duolog.engine.json_object import Json

NODES: Final = Path(__file__).with_name("nodes.jsonl")
"""One line for each kind. The lines are what the kernel reads, so they stay as they are."""

assert lower.RULES, "all kinds are imported"
KINDS: Final = {operator.kind: operator for operator in Operator.__subclasses__()}


def node_of_each_kind() -> list[NodeSpec]:
    """Return a node of each kind, in alphabetical order."""
    return [_node(f"a-{kind}", _filled(KINDS[kind])) for kind in sorted(KINDS)]


def _node(name: str, operator: Operator) -> NodeSpec:
    return NodeSpec(operator, name, ["STRING"], ["BIGINT"], table=True, children=[3])


def _filled(kind: type[Operator]) -> Operator:
    """Return an operator each of whose fields has a value of its type that is not the default."""
    types = get_type_hints(kind)
    return kind(**{field.name: _value(field.name, types[field.name]) for field in fields(kind)})


def _value(name: str, of: Any) -> object:  # Any: an annotation
    step: Json = _node("step", FilterOperator("true")).json() | {"children": []}
    words = str(of)
    if "Sequence[dict" in words:
        return [step]
    if "dict" in words:
        return {"kind": "unlimited", "start_ms": 5}
    if "Sequence[int]" in words:
        return [0]
    if "Sequence" in words:
        return [name]
    if "bool" in words:
        return True
    return 7 if "int" in words else name
