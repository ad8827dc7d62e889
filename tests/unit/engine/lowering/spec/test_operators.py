import json
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

from duolog.engine.json_object import Json
from duolog.engine.lowering.spec.node_spec import NodeSpec
from unit.engine.lowering.spec.nodes import KINDS, NODES, node_of_each_kind

KERNEL: Final = Path(__file__).parents[5] / "jvm/src/org/duolog/kernel/spec"
IN_PYTHON: Final = {
    "boolean": bool,
    "int": int,
    "long": int,
    "Integer": int,
    "Long": int,
    "String": str,
    "Windows": Json,
    "List<Integer>": Sequence[int],
    "List<String>": Sequence[str],
    "List<Operator>": Sequence[Json],
    "NodeSpec": NodeSpec,
}
"""The types of the kernel's fields, and what they are in Python."""


def test_the_kernel_has_the_same_kinds_with_the_same_fields() -> None:
    java = "".join(path.read_text() for path in sorted(KERNEL.glob("*Operator*.java")))
    kinds = dict(re.findall(r'"(\w+)", (?:\w+\.)?(\w+)\.class', java))
    records = dict(re.findall(r"record (\w+)\(([^)]*)\)", java))

    in_java = {kind: _components(records[record]) for kind, record in kinds.items()}

    in_python = {
        kind: {"node": NodeSpec, **{name: _without_none(of) for name, of in _types(operator)}}
        for kind, operator in KINDS.items()
    }
    assert in_java == in_python


def test_the_kernel_reads_the_fields_that_every_kind_has() -> None:
    java = (KERNEL / "NodeSpec.java").read_text()
    (components,) = re.findall(r"record NodeSpec\(([^)]*)\)", java)

    written = {field.name for field in fields(NodeSpec)} - {"operator"}

    assert _components(components).keys() == {"kind", *written}


def test_nodes_are_written_as_in_the_first_version() -> None:
    written = [json.dumps(node.json()) for node in node_of_each_kind()]

    assert written == NODES.read_text().splitlines()


def _components(java: str) -> dict[str, object]:
    """Return the fields of a Java record, and what their types are in Python."""
    parts = (part.split() for part in java.split(","))
    return {
        re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name): IN_PYTHON[of]
        for of, name in parts
    }


def _types(of: type) -> list[tuple[str, Any]]:  # Any: an annotation
    types = get_type_hints(of)
    return [(field.name, types[field.name]) for field in fields(of)]


def _without_none(of: Any) -> Any:  # Any: an annotation
    args = [arg for arg in get_args(of) if arg is not NoneType]
    return args[0] if NoneType in get_args(of) else of
