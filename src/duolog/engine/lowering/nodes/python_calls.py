"""Python functions that are called with many records at once, before the step that uses them.

    map_values(total=price(n))  ─▶  python: r0 = price of each   ─▶  project: the value of r0

Possible if records may be delayed: those of a stream, with only stateless steps downstream, up to
the next cut. Otherwise, and for calls in a branch that may not be evaluated, the expression calls
the function, record by record.
"""

from collections.abc import Sequence
from dataclasses import replace

from duolog.engine.lowering.expressions.expressions import Names, arguments_of
from duolog.engine.lowering.expressions.python_functions import name_of
from duolog.engine.lowering.nodes.rows import Row, Surroundings
from duolog.engine.lowering.spec.node_spec import NodeSpec
from duolog.engine.lowering.spec.operators import PythonOperator
from duolog.plan.cutting.python_calls import calls_of_many
from duolog.plan.expressions import Expression, type_of
from duolog.plan.nodes import Node
from duolog.plan.types import BYTES, Column


def calls_before(
    expressions: Sequence[Expression],
    node: Node,
    row: Row,
    around: Surroundings,
    *,
    nulls: bool = False,
) -> tuple[list[NodeSpec], Row, Names]:
    """Return the nodes that call the functions of `expressions`, their row, and its names.

    Functions are called with records without a value only with `nulls`, for a filter and a new key:
    the new value of such a record is null whatever they return.
    """
    naming = row.naming(node.parents[0].schema)
    entries: list[NodeSpec] = []
    calls = () if row.changes else calls_of_many(expressions, node, around.levels)
    for call in calls:
        known = call.function.over(tuple(type_of(arg, naming.scope) for arg in call.args))
        columns = [f"v{number}" for number in range(len(row.value))]
        operator = PythonOperator(
            function=name_of(known),
            arguments=arguments_of(call.args, naming),
            values=[*columns, "r0"],
            nulls=nulls,
        )
        entries.append(row.entry(node.name, operator))
        at = f"v{len(columns)}"
        # The column needs no name in the plan.
        row = replace(row, value=(*row.value, Column(f"python {at}", BYTES)))
        naming = replace(naming, calls=(*naming.calls, (call, at)))
    return entries, row, naming
