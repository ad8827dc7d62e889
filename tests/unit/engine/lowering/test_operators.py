import re
from dataclasses import fields
from pathlib import Path

from duolog.engine.lowering import lower
from duolog.engine.lowering.operators import Operator

KERNEL = Path(__file__).parents[4] / "jvm/src/org/duolog/kernel/spec"
OF_EVERY_KIND = {"name", "children", "key_types", "value_types", "table"}


def test_the_kernel_has_the_same_kinds_with_the_same_fields() -> None:
    assert lower.RULES, "all kinds are known"
    java = "".join(path.read_text() for path in sorted(KERNEL.glob("*Operator*.java")))
    kinds = dict(re.findall(r'"(\w+)", (?:\w+\.)?(\w+)\.class', java))
    records = dict(re.findall(r"record (\w+)\(([^)]*)\)", java))
    in_java = {
        kind: {_snake(part.split()[-1]) for part in records[record].split(",")} - OF_EVERY_KIND
        for kind, record in kinds.items()
    }

    in_python = {
        operator.kind: {field.name for field in fields(operator)}
        for operator in Operator.__subclasses__()
    }

    assert in_python == in_java


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
