"""Streams that go another way: together with others, or to other tasks.

Source: Kafka Streams `KStream`.
"""

from typing import Self

from duolog.dsl.steps.merges import merged
from duolog.dsl.steps.records import Partitioner, Records
from duolog.plan.nodes import Repartition


class Rerouted(Records):
    """A stream that can be sent where others are: a base of `Stream`."""

    def merge(self, *others: Self) -> Self:
        """Return the records of this stream and of others, which have the same columns.

        The records of each stream stay in their order; which of two streams goes first, their timestamps
        say, and for equal ones nothing does. Value columns may stand in another order.

        Raises:
            StatementError: columns have other names or types.

        Example:
            >>> from duolog import Topology
            >>> shop = Topology("shop")
            >>> web = shop.stream("web", key="id BIGINT", value="item STRING, n INT")
            >>> store = shop.stream("store", key="id BIGINT", value="n INT, item STRING")
            >>> print(web.merge(store).schema)
            key (id BIGINT) value (item STRING, n INT)
        """
        for other in others:
            self.builder.ensure_own(other)
        streams = (self.node, *(other.node for other in others))
        return type(self)(self.builder, merged(self.builder, streams))

    def repartition(
        self, *, partitions: int | None = None, partitioner: Partitioner | None = None
    ) -> Self:
        """Shuffle the records to the tasks of their keys here, or to others; `named` gives the shuffle a name.

        What needs a key in one task is shuffled without being told so: this spreads work that does not,
        such as a costly expression over a topic of few partitions. Records without a key stay. There is no topic in
        between, and no other number of tasks: that is the application's, and fixed by its checkpoint.

        Behind a repartition with `partitions` or `partitioner` keys are in other tasks than theirs. So nothing is
        joined there but global tables, and an aggregate or table needs a partitioner that reads the key alone.

        Args:
            partitions: how many partitions there are, as of a topic: a record goes to task p modulo the number of tasks,
                where p is its partition. With 1, one task sees all records, in the order of time.
            partitioner: the partition of each record, `col("region") % 4`: a number from 0 on, taken modulo
                `partitions`; else, or where it is null, the key chooses. Or a function of the key, as of `to`:
                what is kept behind it stays in the task that it gave first.

        Raises:
            StatementError: `partitioner` is no expression of a number, or `partitions` is below 1.

        Example:
            >>> from duolog import Topology, col
            >>> topology = Topology("texts")
            >>> texts = topology.stream("texts", key="id BIGINT", value="text STRING")
            >>> texts.repartition().named("spread").filter(col("text").like("%needle%")).to("found")
            >>> "edge 0 from stream-1" in topology.describe()
            True
            >>> print(texts.repartition(partitioner=col("id") % 4).node.action)
            to the task of partition (id % 4)
        """
        by = None if partitioner is None else self._partition(partitioner)
        return self._then("repartition", lambda name: Repartition(name, self.node, by, partitions))
