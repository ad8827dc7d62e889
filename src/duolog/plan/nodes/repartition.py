"""Sends records to other tasks at the user's request, and checks the nodes downstream."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Expression, Metadata, RowTime, column_names, walk
from duolog.plan.nodes.aggregate import AggregateNode
from duolog.plan.nodes.global_table import GlobalTableJoin
from duolog.plan.nodes.merge import Merge
from duolog.plan.nodes.node import Names, Node, ensure_partition, ensure_stream
from duolog.plan.nodes.suppress import Suppress
from duolog.plan.nodes.to_table import ToTable
from duolog.plan.schema import Schema


@dataclass(frozen=True, eq=False)
class Repartition(Node):
    """Sends each unchanged record to the task of its key, regardless of its current task.

    With `partitioner` or `partitions` the target is task p modulo `partitions` modulo the number of
    tasks. As with a repartition topic, a record is processed after the record that caused it.
    """

    name: str
    parent: Node
    partitioner: Expression | None = None
    """A number from 0; if it is null, the key decides."""
    partitions: int | None = None
    is_table: ClassVar[bool] = False
    by_key: ClassVar[bool] = True
    reshuffles: ClassVar[bool] = True

    def __post_init__(self) -> None:
        ensure_stream(self.parent, "repartition")
        if self.partitions is not None and self.partitions < 1:
            raise InvalidPlan(
                f"cannot repartition into {self.partitions} partitions", hint="Use at least 1."
            )
        if self.partitioner is not None:
            ensure_partition(self.partitioner, self.parent)

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def schema(self) -> Schema:
        return self.parent.schema

    @property
    def leaves_key_tasks(self) -> bool:
        """True if records may be sent to other tasks than those of their keys."""
        return self.partitioner is not None or self.partitions is not None

    @property
    def splits_keys(self) -> bool:
        """True if records of one key may be sent to several tasks."""
        keys = {column.name for column in self.schema.key}
        return self.partitioner is not None and (
            not column_names(self.partitioner) <= keys
            or any(isinstance(part, Metadata | RowTime) for part in walk(self.partitioner))
        )

    @property
    def action(self) -> str:
        among = "" if self.partitions is None else f" among {self.partitions}"
        if self.partitioner is None:
            return f"to the task of each key{among}"
        return f"to the task of partition {self.partitioner}{among}"

    def reads(self, parent: Node, needed: Names) -> Names:
        return needed if self.partitioner is None else needed | column_names(self.partitioner)


def ensure_keys_meet(nodes: Iterable[Node], places: Mapping[str, str]) -> None:
    """Raise a StatementError if a node needs all records of a key, which were sent to other tasks.

    `nodes` are ordered parents first. A join would find nothing, because the other side is in the
    task of its key. An aggregate is correct if all records of a key are in one task, whichever it
    is.
    """
    sent_by: dict[Node, Repartition] = {}
    for node in nodes:
        above = [sent_by[parent] for parent in node.parents if parent in sent_by]
        if isinstance(node, Repartition):
            if node.leaves_key_tasks:
                sent_by[node] = node
        elif isinstance(node, Merge) and len({sent_by.get(one) for one in node.parents}) > 1:
            continue  # Records from several tasks are shuffled to the task of their key.
        elif above and not node.rekeys:
            _ensure_meet(node, above[0], places)
            sent_by[node] = above[0]


def _ensure_meet(node: Node, sent: Repartition, places: Mapping[str, str]) -> None:
    alone = isinstance(node, AggregateNode | Suppress | ToTable)
    if alone and not sent.splits_keys:
        return
    if isinstance(node, GlobalTableJoin) or not (node.by_key or node.tables):
        return
    what = (
        f"it is {sent.partitioner}, which does not only depend on the key: records of one key are "
        "in several tasks, each with its own state"
        if alone
        else "the other side of the join is in the tasks of the keys"
    )
    raise InvalidPlan(
        f'"{node}" cannot follow "{sent}"',
        detail=f"It sends records to other tasks than those of their keys; {what}.",
        hint="Send them back first: .repartition(), or group by another key.",
        place=places.get(node.name, ""),
    )
