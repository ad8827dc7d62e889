"""Users, rules and settings of one cluster, with the login of this process.

Each call opens a connection of its own: administrators are few, and a broker may have restarted.

Threads: any; calls block.
"""

from collections.abc import Callable, Iterable
from functools import partial

from duolog.core.errors import KafkaError
from duolog.runtime.administration.rules import Rules
from duolog.runtime.administration.security_topic import UNKNOWN_TOPIC, state_of, write_to
from duolog.runtime.administration.settings import ClusterSettings, Connect
from duolog.runtime.administration.users import Users
from duolog.runtime.administration.wire import Wire
from duolog.security.clients.brokers import Brokers
from duolog.security.records.records import Change
from duolog.security.state.security_state import SecurityState


class Administration:
    """One cluster.

    Args:
        brokers: its addresses, and the login.
        connect: opens a connection.
        state: reads the topic of users; by default that of the cluster.
        append: writes to it.

    Attributes:
        has_login: whether this process logs in, so that it may have rights of its own.
    """

    def __init__(
        self,
        brokers: Brokers,
        connect: Connect = Wire,
        state: Callable[[], SecurityState] | None = None,
        append: Callable[[Iterable[Change]], None] | None = None,
    ) -> None:
        self._state = state or partial(state_of, brokers)
        self.has_login = brokers.security is not None and (
            brokers.security.has_login or bool(brokers.security.chain)
        )
        self.users = Users(partial(connect, brokers))
        append = append or partial(write_to, brokers)
        self.rules = Rules(partial(connect, brokers), self._state, append)
        self.settings = ClusterSettings(brokers, connect)

    def state(self) -> SecurityState | None:
        """Return users, roles and tokens; None if the cluster has no topic for them.

        Raises:
            KafkaError: it cannot be read.
        """
        try:
            return self._state()
        except KafkaError as error:
            if error.code == UNKNOWN_TOPIC:
                return None
            raise
