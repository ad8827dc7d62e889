"""The kernel reads every field of every kind of node that the engine writes, and builds the node."""

import json

from unit.engine.lowering.spec.nodes import NODES
from unit.kernel.java_program import run_java


def test_the_kernel_reads_and_builds_every_kind_of_node() -> None:
    read = run_java("NodeKinds", NODES)

    written = [json.loads(line) for line in NODES.read_text().splitlines()]
    for node, found in zip(written, read, strict=True):
        kind = node["kind"]
        assert found.startswith("built:"), kind
        assert (
            f"node=NodeSpec[kind={kind},name=a-{kind},children=[3],keyTypes=[STRING],"
            "valueTypes=[BIGINT],table=true]"
        ) in found
        own = list(node)[len(("kind", "name", "key_types", "value_types", "table", "children")) :]
        missing = [name for name in own if f"{_camel(name)}={_shown(node[name])}" not in found]
        assert not missing, found


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "UnlimitedWindows[startMs=5]"
        case [{"kind": "filter"}]:
            return "[Filter[node=NodeSpec[kind=filter,name=step,"
        case list():
            return f"[{value[0]}]"
        case _:
            return str(value)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
