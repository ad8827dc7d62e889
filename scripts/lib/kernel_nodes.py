"""Generate the table of node kinds in `jvm/README.md` from the classes of the lowering."""

import re
from dataclasses import fields
from inspect import getdoc
from pathlib import Path
from typing import Final

from duolog.engine.lowering.spec import foreign_operators, operators, processor_operators
from duolog.engine.lowering.spec.node_spec import NodeSpec, Operator

ROOT: Final = Path(__file__).parents[2]
README: Final = ROOT / "jvm/README.md"
BEGIN: Final = (
    "<!-- Written by scripts/docs from the classes in engine/lowering: change it there. -->\n\n"
)
END: Final = "\n\n<!-- The end of what scripts/docs writes. -->"
MODULES: Final = (operators, foreign_operators, processor_operators)


def kernel_readme() -> str:
    """Return the text of `jvm/README.md` with the table as the code has it now."""
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{_table()}{END}{after}".removesuffix("\n")


def _table() -> str:
    common = [field.name for field in fields(NodeSpec) if field.name != "operator"]
    rows = [f"| every kind | kind, {', '.join(common)} | `NodeSpec` |"]
    for module in MODULES:
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Operator) and kind is not Operator:
                names = ", ".join(field.name for field in fields(kind))
                rows.append(f"| `{kind.kind}` | {names} | {_described(kind)} |")
    return "\n".join(("| kind | its fields | does |", "|---|---|---|", *rows))


def _described(kind: type[Operator]) -> str:
    """Return the docstring in one line, with links to decision records."""
    text = " ".join((getdoc(kind) or "").split())
    return re.sub(r"ADR (\d{4})", lambda found: _link(found[1]), text)


def _link(number: str) -> str:
    (record,) = (ROOT / "docs/adr").glob(f"{number}-*.md")
    return f"[ADR {number}](../docs/adr/{record.name})"
