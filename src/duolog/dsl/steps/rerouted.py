"""Methods that merge streams, or send records to other tasks.

Source: Kafka Streams `KStream`.
"""

from typing import Self

from duolog.dsl.steps.merges import merged
from duolog.dsl.steps.records import Partitioner, Records
from duolog.plan.nodes import Repartition


class Rerouted(Records):
    """The methods that merge and repartition: a base class of `Stream`."""

    def merge(self, *others: Self) -> Self:
        """Return the records of this stream and of others, which must have the same columns.

        The records of each stream stay in order. Records of different streams are ordered by
        timestamp; the order of equal timestamps is undefined. Value columns may be in a different
        order.

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
        """Shuffle the records to the tasks of their keys, or to others; `named` names the shuffle.

        Steps that need all records of a key in one task are preceded by a shuffle automatically.
        This method distributes other work, such as an expensive expression over a topic with few
        partitions. Records without a key stay where they are. There is no topic in between, and the
        number of tasks does not change: the checkpoint fixes it for the whole application.

        After a repartition with `partitions` or `partitioner`, keys are in other tasks than their
        own. Only joins with global tables are then possible, and an aggregate or table requires a
        partitioner that reads only the key.

        Args:
            partitions: the number of partitions, as of a topic: a record of partition p is sent to
                task p modulo the number of tasks. With 1, one task receives all records, ordered by
                time.
            partitioner: the partition of each record, `col("region") % 4`: a number from 0, taken
                modulo `partitions`; by default, or if it is null, the key decides. Or a function of
                the key, as for `to`: state downstream stays in the task that the function returned
                first.

        Raises:
            StatementError: `partitioner` is not a number, or `partitions` is below 1.

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
