"""Publish the states of a service's queries to processes that do not run them.

    topic _duolog-ksql-<service id>_query_states, compacted, one partition
    key CSAS_LATE_0     {"owner": "host/4711/1", "state": "ERROR", "error": "…",
                         "errorKind": "USER", "errorAtMs": 1700000000000}

Each member of the service writes the states of its own queries when they change; read on demand. A
record counts only while the query's place is assigned to its writer: otherwise the query has moved,
or its process has died.

Threads: `QueryStates` one at a time; `read_states` any.
"""

import json
import logging
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Final, get_args

from confluent_kafka import Message

from duolog.core.errors import KafkaError
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.persistent.members import Member, member_with, members_of_service
from duolog.runtime.sql.persistent.places import place_of
from duolog.runtime.sql.persistent.query_errors import ErrorKind
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery
from duolog.runtime.topic_reader import TopicReader
from duolog.runtime.topic_writer import TopicWriter
from duolog.runtime.topics import TABLE_CONFIG
from duolog.security.clients.brokers import Brokers

logger: Final = logging.getLogger(__name__)

NO_ENGINE: Final = "No engine runs the queries of this service."
_READ_S: Final = 5.0
_KINDS: Final = frozenset(get_args(ErrorKind))
Json = dict[str, object]


def states_topic_of(service_id: str) -> str:
    """Return the topic of a service's query states.

    Example:
        >>> states_topic_of("flights")
        '_duolog-ksql-flights_query_states'
    """
    return f"_duolog-ksql-{service_id}_query_states"


class QueryStates:
    """Publishes the states of the queries that one member of a service runs."""

    def __init__(self, bootstrap: Brokers | str, service_id: str, owner: str) -> None:
        topic = states_topic_of(service_id)
        self._writer = TopicWriter(Brokers.of(bootstrap), topic, TABLE_CONFIG)
        self._owner = owner
        self._published: dict[str, Json] = {}

    def publish(
        self,
        queries: Iterable[LiveQuery],
        known: Container[str] = (),
        stopping: Container[str] = (),
    ) -> None:
        """Write changed states; without a broker, they are written with the next change.

        The states of queries that are no longer among them are deleted, except those of `known`
        ones: these run elsewhere, and their states are published there. Those that are `stopping`
        keep theirs until they have stopped, which other processes wait for.

        Raises:
            KafkaError: the broker refuses the topic.
        """
        now = {one.id: _published(one) for one in queries}
        now |= {
            one: was for one, was in self._published.items() if one not in now and one in stopping
        }
        gone = self._published.keys() - now.keys()
        changed = {one: now[one] for one in now if self._published.get(one) != now[one]}
        if not gone and not changed:
            return
        records: dict[str, bytes | None] = {}
        for query_id, one in changed.items():
            records[query_id] = json.dumps({"owner": self._owner, **one}).encode()
        records |= {query_id: None for query_id in gone if query_id not in known}
        self._writer.write(records)
        self._published = now

    def flush(self) -> None:
        """Wait for pending records: others may write states of the same queries next."""
        self._writer.flush()

    def close(self) -> None:
        """Flush pending records. Does nothing if closed."""
        self._writer.close()


def followed(
    bootstrap: Brokers | str,
    service_id: str,
    wanted: Mapping[str, DesiredQuery],
    me: Member | None = None,
) -> list[LiveQuery]:
    """Return queries with the states that the members which run them have published.

    STARTING if a member has not published one yet, or the query is moving; UNRESPONSIVE if there is
    no member. States of the member that `me`, this server, has replaced do not count.
    """
    if not wanted:
        return []
    members = _members(bootstrap, service_id)
    if me is not None:
        members = [one for one in members if not one.was_replaced_by(me)]
    published = read_states(bootstrap, service_id) if members else {}
    otherwise = LiveQuery("", "STARTING") if members else LiveQuery("", "UNRESPONSIVE", NO_ENGINE)
    found = []
    for query_id, one in wanted.items():
        member = member_with(place_of(one.number), members)
        writer, live = published.get(query_id, ("", otherwise))
        if member is None or writer != member.name:
            live = otherwise
        if one.query.state == "PAUSED":
            live = LiveQuery("", "PAUSED")
        address = "" if member is None else member.address
        found.append(replace(live, id=query_id, host=address))
    return found


def still_stopping(
    bootstrap: Brokers | str, service_id: str, ended: Mapping[str, DesiredQuery]
) -> dict[str, DesiredQuery]:
    """Return those of some ended queries that the members of their places have not stopped yet."""
    members = _members(bootstrap, service_id)
    published = read_states(bootstrap, service_id) if members else {}
    left = {}
    for query_id, one in ended.items():
        member = member_with(place_of(one.number), members)
        writer, _ = published.get(query_id, ("", None))
        if member is not None and member.name == writer:
            left[query_id] = one
    return left


def _members(bootstrap: Brokers | str, service_id: str) -> list[Member]:
    try:
        return members_of_service(bootstrap, service_id)
    except KafkaError as error:
        logger.debug("cannot ask who runs the queries: %s", error.message)
        return []


def read_states(bootstrap: Brokers | str, service_id: str) -> dict[str, tuple[str, LiveQuery]]:
    """Return the published states by query id, each with the member that has published it.

    Empty if they cannot be read.
    """
    try:
        with _States(states_topic_of(service_id), Brokers.of(bootstrap)) as states:
            states.catch_up(_READ_S)
            return states.found
    except KafkaError as error:
        logger.debug("cannot read the states of queries: %s", error.message)
        return {}


def _published(live: LiveQuery) -> Json:
    return {
        "state": live.state,
        "error": live.error,
        "errorKind": live.error_kind,
        "errorAtMs": live.error_at_ms,
    }


class _States(TopicReader):
    def __init__(self, topic: str, brokers: Brokers) -> None:
        super().__init__(topic, brokers)
        self.found: dict[str, tuple[str, LiveQuery]] = {}

    def take(self, message: Message) -> None:
        key, value = message.key(), message.value()
        assert isinstance(key, bytes)
        query_id = key.decode()
        if value is None:
            self.found.pop(query_id, None)
            return
        try:
            published = json.loads(value)
            state, error = published["state"], str(published["error"])
            # An earlier release writes neither kind nor time.
            kind = published.get("errorKind")
            live = LiveQuery(
                query_id,
                state,
                error,
                error_kind=kind if kind in _KINDS else "UNKNOWN",
                error_at_ms=int(published.get("errorAtMs", 0)),
            )
            self.found[query_id] = (str(published["owner"]), live)
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            # Any client can write to the topic; ignore records that are not states.
            logger.debug("ignored a state of query %s: %r", query_id, error)
