"""Streams that go another way: together with others.

Source: Kafka Streams `KStream`.
"""

from typing import Self

from duolog.dsl.merges import merged
from duolog.dsl.records import Records


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
        streams = (self.node, *(other.node for other in others))
        return type(self)(self.builder, merged(self.builder, streams))
