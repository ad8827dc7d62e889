"""The table of all endpoints; the application is made from it, and tests walk it.

To add an endpoint, write an operation and add a row. A row that is not public needs a login if the
server has users. `right` is checked before the operation runs; operations that run statements
check the rights of each statement themselves.
"""

from enum import Enum
from typing import Final, NamedTuple

from duolog.security.authorization.operations import CLUSTER_NAME, ResourceType
from duolog.security.authorization.operations import Operation as Verb
from duolog.server.access.client import Right
from duolog.server.operations import (
    acls,
    clients,
    console,
    dead_letters,
    demo,
    editor,
    events,
    graph,
    groups,
    health,
    information,
    ksql,
    lineage,
    login,
    metrics,
    queries,
    schemas,
    settings,
    socket_queries,
    sources,
    terminating,
    topic_records,
    topics,
    users,
)
from duolog.server.operations.context import Operation

_ALTER_CLUSTER: Final = Right(Verb.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
_SEE_CLUSTER: Final = Right(Verb.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)


class Polled(Enum):
    """The clients that ask an endpoint at an interval."""

    NO = "no"
    PAGE = "page"
    """The page of the console, which names itself (`X-Requested-With`)."""
    MONITORS = "monitors"
    """Any client: checks of health, and scrapers of metrics."""


class Endpoint(NamedTuple):
    """One row.

    Attributes:
        path: Starlette's form: `/status/{type}/{entity}/{action}`.
        right: what a user needs; None if a login is enough.
        public: True if the endpoint needs no login: it must not reveal anything.
        guarded: True if the endpoint needs the token of the console, or its cookie, if the server
            has no users. For all endpoints of the console that act on objects of Kafka, so that no
            other user of this machine reaches them. With users, their login counts.
        changes: True if the operation changes something of the cluster by the login of the server,
            and not by a statement of SQL. A server without users refuses it if it has a login
            (ADR 0151). Operations on schemas check the login at the registry themselves.
        polled: by whom the endpoint is asked again and again. An answer without an error then has
            its line in the access log at level debug. Not for what has contents of topics.
        in_pieces: True if the operation reads the body in pieces, without a limit of its size.
        socket: True if the endpoint is a WebSocket: its operation returns `Messages`.
    """

    method: str
    path: str
    operation: Operation
    right: Right | None = None
    public: bool = False
    guarded: bool = False
    changes: bool = False
    polled: Polled = Polled.NO
    in_pieces: bool = False
    socket: bool = False

    @property
    def name(self) -> str:
        """The name of the operation, for metrics."""
        return getattr(self.operation, "__name__", "operation")


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    Endpoint("GET", "/chc/live", health.live, public=True, polled=Polled.MONITORS),
    Endpoint("GET", "/chc/ready", health.ready, public=True, polled=Polled.MONITORS),
    Endpoint("GET", "/healthcheck", health.healthcheck, polled=Polled.MONITORS),
    Endpoint("GET", "/", information.root),
    Endpoint("GET", "/info", information.info, polled=Polled.PAGE),
    Endpoint("GET", "/v1/metadata", information.metadata),
    Endpoint("GET", "/v1/metadata/id", information.metadata_id),
    Endpoint("GET", "/clusterStatus", information.cluster_status, right=_SEE_CLUSTER),
    Endpoint("POST", "/heartbeat", information.heartbeat),
    Endpoint("POST", "/lag", information.lag),
    Endpoint("GET", "/is_valid_property/{property}", information.is_valid_property),
    Endpoint("POST", "/ksql", ksql.ksql),
    Endpoint("POST", "/ksql/terminate", terminating.terminate, right=_ALTER_CLUSTER),
    Endpoint("POST", "/query", ksql.query),
    Endpoint("POST", "/query-stream", ksql.query_stream),
    Endpoint("POST", "/inserts-stream", ksql.inserts_stream, in_pieces=True),
    Endpoint("POST", "/close-query", ksql.close_query),
    Endpoint("GET", "/ws/query", socket_queries.query, socket=True),
    Endpoint("GET", "/status", ksql.statuses),
    Endpoint("GET", "/status/{type}/{entity}/{action}", ksql.status),
    Endpoint("GET", "/v1/queries", queries.queries, polled=Polled.PAGE),
    Endpoint("GET", "/v1/queries/{query}", queries.query, polled=Polled.PAGE),
    Endpoint("GET", "/v1/sources", sources.sources, guarded=True, polled=Polled.PAGE),
    Endpoint("GET", "/v1/sources/{source}", sources.source, guarded=True, polled=Polled.PAGE),
    Endpoint("GET", "/v1/graph", graph.graph, guarded=True, polled=Polled.PAGE),
    Endpoint("GET", "/v1/demo", demo.demo, guarded=True, polled=Polled.PAGE),
    Endpoint("POST", "/v1/demo", demo.start_demo, right=_ALTER_CLUSTER, guarded=True, changes=True),
    Endpoint("GET", "/v1/events", events.events, guarded=True, polled=Polled.PAGE),
    Endpoint("GET", "/v1/lineage", lineage.lineage, polled=Polled.PAGE),
    Endpoint("GET", "/v1/lineage/{source}", lineage.lineage_of_source),
    Endpoint("POST", "/v1/completion", editor.completion, guarded=True, polled=Polled.PAGE),
    Endpoint("POST", "/v1/check", editor.check, guarded=True, polled=Polled.PAGE),
    Endpoint("GET", "/v1/dead-letters", dead_letters.dead_letter_topics, polled=Polled.PAGE),
    Endpoint("GET", "/v1/dead-letters/{topic}", dead_letters.dead_letters),
    Endpoint(
        "POST",
        "/v1/dead-letters/{topic}/replay",
        dead_letters.replay_dead_letters,
        changes=True,
    ),
    Endpoint(
        "GET",
        "/v1/dead-letters/{topic}/{partition}/{offset}/{part}",
        dead_letters.dead_letter_bytes,
    ),
    Endpoint("GET", "/v1/schemas", schemas.subjects, guarded=True),
    Endpoint("DELETE", "/v1/schemas", schemas.delete, guarded=True),
    Endpoint("GET", "/v1/schemas/versions", schemas.versions, guarded=True),
    Endpoint("GET", "/v1/schemas/version", schemas.version, guarded=True),
    Endpoint("GET", "/v1/schemas/difference", schemas.difference, guarded=True),
    Endpoint("GET", "/v1/schemas/compatibility", schemas.compatibility, guarded=True),
    Endpoint("POST", "/v1/schemas/compatibility", schemas.set_compatibility, guarded=True),
    Endpoint("POST", "/v1/schemas/check", schemas.check, guarded=True),
    Endpoint("POST", "/v1/schemas/impact", schemas.impact, guarded=True),
    Endpoint("POST", "/v1/schemas/register", schemas.register, guarded=True),
    Endpoint("GET", "/v1/users", users.users, right=_SEE_CLUSTER, guarded=True),
    Endpoint("POST", "/v1/users", users.add_user, right=_ALTER_CLUSTER, guarded=True, changes=True),
    Endpoint(
        "DELETE", "/v1/users", users.remove_user, right=_ALTER_CLUSTER, guarded=True, changes=True
    ),
    Endpoint(
        "POST",
        "/v1/users/password",
        users.change_password,
        right=_ALTER_CLUSTER,
        guarded=True,
        changes=True,
    ),
    Endpoint("GET", "/v1/acls", acls.acls, right=_SEE_CLUSTER, guarded=True),
    Endpoint("POST", "/v1/acls", acls.add_acls, right=_ALTER_CLUSTER, guarded=True, changes=True),
    Endpoint(
        "DELETE", "/v1/acls", acls.remove_acls, right=_ALTER_CLUSTER, guarded=True, changes=True
    ),
    Endpoint("GET", "/v1/settings", settings.settings, guarded=True),
    Endpoint("POST", "/v1/settings", settings.change_settings, guarded=True, changes=True),
    Endpoint(
        "GET", "/v1/clients", clients.clients, right=_SEE_CLUSTER, guarded=True, polled=Polled.PAGE
    ),
    Endpoint("GET", "/v1/groups", groups.groups, guarded=True, polled=Polled.PAGE),
    # Names of groups may have slashes: the longer paths come first.
    Endpoint(
        "DELETE",
        "/v1/groups/{group:path}/offsets",
        groups.delete_group_offsets,
        guarded=True,
        changes=True,
    ),
    Endpoint(
        "POST", "/v1/groups/{group:path}/reset", groups.reset_group, guarded=True, changes=True
    ),
    Endpoint("GET", "/v1/groups/{group:path}", groups.group, guarded=True, polled=Polled.PAGE),
    Endpoint("DELETE", "/v1/groups/{group:path}", groups.delete_group, guarded=True, changes=True),
    Endpoint("GET", "/v1/topics", topics.topics, guarded=True, polled=Polled.PAGE),
    Endpoint("POST", "/v1/topics", topics.create_topic, guarded=True, changes=True),
    Endpoint("GET", "/v1/topics/{topic}", topics.topic, guarded=True),
    Endpoint("PATCH", "/v1/topics/{topic}", topics.change_topic, guarded=True, changes=True),
    Endpoint("DELETE", "/v1/topics/{topic}", topics.delete_topic, guarded=True, changes=True),
    Endpoint("GET", "/v1/topics/{topic}/readers", groups.topic_readers, guarded=True),
    Endpoint("GET", "/v1/topics/{topic}/form", topics.topic_form, guarded=True),
    Endpoint("GET", "/v1/topics/{topic}/records", topic_records.topic_records, guarded=True),
    Endpoint(
        "POST", "/v1/topics/{topic}/records", topics.produce_record, guarded=True, changes=True
    ),
    Endpoint(
        "GET",
        "/v1/topics/{topic}/records/{partition}/{offset}/{part}",
        topic_records.record_bytes,
        guarded=True,
    ),
    Endpoint("GET", "/v1/topics/{topic}/live", topic_records.live_records, guarded=True),
    Endpoint("GET", "/v1/topics/{topic}/export", topic_records.export_records, guarded=True),
    Endpoint("GET", "/metrics", metrics.metrics, right=_SEE_CLUSTER, polled=Polled.MONITORS),
    Endpoint("POST", "/session", login.log_in),
    Endpoint("GET", "/session", login.who, polled=Polled.PAGE),
    Endpoint("DELETE", "/session", login.log_out),
    Endpoint("GET", "/console", console.page, public=True),
    Endpoint("GET", "/console/assets/{name}", console.asset, public=True),
    Endpoint("GET", "/console/{screen:path}", console.page, public=True),
)

PUBLIC_PATHS: Final = frozenset(row.path for row in ENDPOINTS if row.public and "{" not in row.path)
PUBLIC_PREFIXES: Final = tuple(
    {row.path.partition("{")[0] for row in ENDPOINTS if row.public and "{" in row.path}
)
"""Starts of the paths below which everything is public: the files of the console."""
SOCKET_PATHS: Final = frozenset(row.path for row in ENDPOINTS if row.socket)
