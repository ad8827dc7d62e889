"""Finds the Python functions that a plan calls, and how many records each call takes.

    filter, map, flat_map, select_key of a stream, if no     many: the order in which calls
    node up to the next cut keeps state                      finish cannot be observed
    any other node                                           one: records are forwarded in order

Pure: the lowering and `explain` use the same functions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Final, Literal

from duolog.plan.cutting.levels import Edge, Levels
from duolog.plan.expressions import Call, Cast, Expression, Item, PythonCall
from duolog.plan.expressions.key_functions import KeyFunction
from duolog.plan.expressions.python_functions import Lookups, PythonFunction
from duolog.plan.nodes import (
    AggregateNode,
    Branch,
    Explode,
    Filter,
    ForEach,
    GroupBy,
    Merge,
    Node,
    Plan,
    Print,
    Process,
    ProcessOutput,
    Project,
    Rename,
    Repartition,
    SelectKey,
    SetHeaders,
    SetTime,
    Sink,
    Split,
)
from duolog.plan.sql.user_functions import Routine

MANY_MAX: Final = 1_000
"""The number of records that wait for one call, as in `Deferred` of the kernel."""
_BESIDE: Final = "in a process next to each task"
_APPLICATION: Final = "in the process of the application"
_KEEP_NOTHING: Final = (
    Branch,
    Explode,
    Filter,
    ForEach,
    GroupBy,
    Merge,
    Print,
    ProcessOutput,
    Project,
    Rename,
    Repartition,
    SelectKey,
    SetHeaders,
    SetTime,
    Sink,
    Split,
)
# Functions that evaluate some of their arguments only for some records.
_MAY_NOT_ASK: Final = frozenset({"CASE", "IF", "COALESCE", "AND", "OR", "FITS"})


Kind = Literal["scalar", "arrow", "pandas", "look-ups", "of the key", "for each", "processor"]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function at a node of a plan, and how it is called, in the words of `explain`."""

    called: str
    """The function and its source line: `price (shop.py:12)`."""
    node: Node
    kind: Kind
    where: str
    """The processes that it runs in."""
    how: str
    """The number of records per call, in each mode; for one, also the reason."""
    modes: str = "both modes"

    def __str__(self) -> str:
        return f"{self.called}: at {self.node}; {self.kind}; {self.modes}; {self.where}; {self.how}"


def function_calls(levels: Levels) -> tuple[FunctionCall, ...]:
    """Return the function calls of a plan, in its order; each once per node."""
    found: list[FunctionCall] = []
    read = {node for ingress in levels.ingresses for node in ingress.nodes}
    for node in levels.nodes:
        many = {call.function for call in calls_of_many(_expressions(node), node, levels)}
        functions = dict.fromkeys(
            one.function if isinstance(one, PythonCall) else one for one in _within(node)
        )
        found += [
            _described(one, node, many=one in many, in_ingress=node in read) for one in functions
        ]
        if isinstance(node, ForEach):
            how = "each record, once it has come here"
            found.append(FunctionCall(node.called, node, "for each", _APPLICATION, how, node.modes))
        if isinstance(node, Process):
            called = _with_place(node.definition.called, node.definition.place)
            how = "each record alone, in the task of its key"
            found.append(FunctionCall(called, node, "processor", _BESIDE, how, node.modes))
    return tuple(found)


def lookups_of(plan: Plan) -> Iterator[tuple[Node, PythonFunction, Lookups]]:
    """Yield the functions of a plan that perform look-ups, each once per node."""
    for node in plan.nodes:
        for call in dict.fromkeys(_within(node)):
            if isinstance(call, PythonCall) and call.function.lookups is not None:
                yield node, call.function, call.function.lookups


def _described(
    function: PythonFunction | KeyFunction, node: Node, *, many: bool, in_ingress: bool
) -> FunctionCall:
    if isinstance(function, KeyFunction):
        how = "once for each key: answers are remembered"
        where = f"{_APPLICATION}, on a cluster next to each executor"
        return FunctionCall(function.called, node, "of the key", where, how)
    called = _with_place(function.called, _place(function))
    kind: Kind = "scalar" if function.takes == "values" else function.takes
    if function.lookups is not None:
        kind = "look-ups"
    if not many:
        how = f"each record alone: {_why(node)}"
    elif function.lookups is not None:
        how = f"up to {function.lookups.limit} look-ups of a task at once"
        if not in_ingress:
            how += " in micro-batches, one after the other in real time"
    else:
        how = (
            f"up to {MANY_MAX} records go there together in micro-batches, each alone in real time"
        )
    return FunctionCall(called, node, kind, _BESIDE, how)


def calls_of_many(
    expressions: Sequence[Expression], node: Node, levels: Levels
) -> tuple[PythonCall, ...]:
    """Return the calls in a node's expressions for which records may wait, inner calls first."""
    calls = dict.fromkeys(call for one in expressions for call in _calls(one))
    stream = bool(node.parents) and not node.parents[0].is_table
    return tuple(calls) if calls and stream and may_wait(node, levels) else ()


def _expressions(node: Node) -> tuple[Expression, ...]:
    match node:
        case Filter(predicate=predicate):
            return (predicate,)
        case Project(values=values):
            return tuple(of for _, of in values)
        case Explode(arrays=arrays):
            return tuple(arrays)
        case SelectKey(keys=keys):
            return tuple(of for _, of in keys)
        case _:
            return ()


def _calls(expression: Expression) -> Iterator[PythonCall]:
    """Yield the calls that are evaluated for every record, inner calls first."""
    parts: Sequence[Expression] = ()
    match expression:
        case Call(function, args) if function not in _MAY_NOT_ASK:
            parts = args
        case PythonCall(_, args):
            parts = args
        case Cast(arg, _):
            parts = (arg,)
        case Item(arg, key):
            parts = (arg, key)
        case _:
            pass
    for part in parts:
        yield from _calls(part)
    if isinstance(expression, PythonCall):
        yield expression


def may_wait(node: Node, levels: Levels) -> bool:
    """Return True if no node downstream can observe that records have waited."""
    # Paths can split and merge again: visit each node once.
    seen: set[str] = set()
    ahead = [node]
    while ahead:
        one = ahead.pop()
        if not isinstance(one, _KEEP_NOTHING):
            return False
        if one.name not in seen:
            seen.add(one.name)
            ahead += [after for after in levels.successors(one) if not isinstance(after, Edge)]
    return True


def _with_place(called: str, place: str) -> str:
    return f"{called} ({place})" if place else called


def _place(function: PythonFunction) -> str:
    routine = function.function
    if not isinstance(routine, Routine):
        return function.place
    return routine.body.place if routine.body else "its module is missing"


def _why(node: Node) -> str:
    if isinstance(node, AggregateNode):
        return "a step of an aggregate waits for the one before it"
    if node.is_table or any(parent.is_table for parent in node.parents):
        return "the rows of a table are forwarded one by one"
    if _expressions(node):
        return "a later step stores rows, or the surrounding expression may not evaluate it"
    return "its step asks for it as for any expression"


def _within(part: object) -> Iterator[PythonCall | KeyFunction]:
    """Yield all calls in the parts of a node, without those of other nodes."""
    if isinstance(part, KeyFunction):
        yield part
    elif isinstance(part, PythonCall):
        yield part
        for arg in part.args:
            yield from _within(arg)
    elif isinstance(part, tuple | list):
        for one in part:
            yield from _within(one)
    elif isinstance(part, dict):
        for one in part.values():
            yield from _within(one)
    elif is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            value = getattr(part, field.name)
            if not isinstance(value, Node | PythonFunction):
                yield from _within(value)
