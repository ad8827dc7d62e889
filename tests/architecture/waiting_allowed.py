"""Exceptions of `test_waiting.py` by file, with the reason why they do not race."""

from typing import Final, NamedTuple


class Counts(NamedTuple):
    """Number of occurrences of each kind in a file."""

    sleep: int = 0
    poll: int = 0
    deadline: int = 0
    elapsed: int = 0


class Allowed(NamedTuple):
    """The counts of a file, and the reason."""

    counts: Counts
    why: str


POLLS: Final = (
    "polls in a loop of its own, a minute or longer, and checks more than one condition in it"
)

ALLOWED: Final[dict[str, Allowed]] = {
    "conformance/backup_load.py": Allowed(
        Counts(deadline=2), "takes what has come and asks again, for a minute or until the end"
    ),
    "conformance/clients/test_consumer_protocol.py": Allowed(
        Counts(sleep=1, deadline=1),
        "paces members that come and go; the test then waits for all records",
    ),
    "conformance/kafka/admin_conversations.py": Allowed(Counts(poll=1), POLLS),
    "conformance/kafka/consumer_group_conversations.py": Allowed(Counts(poll=2), POLLS),
    "conformance/kafka/group_conversations.py": Allowed(Counts(poll=2), POLLS),
    "conformance/kafka/members.py": Allowed(Counts(poll=1), POLLS),
    "conformance/kafka/offset_conversations.py": Allowed(Counts(poll=1), POLLS),
    "conformance/kafka/peer.py": Allowed(
        Counts(poll=2, deadline=1),
        "polls a port until Apache Kafka listens; a program that only waits for Ctrl-C",
    ),
    "conformance/kafka/peers.py": Allowed(Counts(poll=1), POLLS),
    "conformance/kafka/wire_helpers.py": Allowed(Counts(poll=2), POLLS),
    "conformance/kafka/test_compaction.py": Allowed(Counts(poll=1), POLLS),
    "conformance/kafka/transaction_conversations.py": Allowed(Counts(poll=3), POLLS),
    "conformance/reader.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_added_partitions.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_backlogs.py": Allowed(
        Counts(deadline=1), "polls a number of times, a minute or more in all"
    ),
    "conformance/streams/test_engine_direct.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_metadata.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_metrics.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_on_each_broker.py": Allowed(
        Counts(sleep=2),
        "a query is stopped at some moment with records in flight; which one does not matter",
    ),
    "conformance/streams/test_engine_one_topic_twice.py": Allowed(
        Counts(sleep=1, deadline=1),
        "lets a live query wait for records first; records that come earlier give the same results",
    ),
    "conformance/streams/test_engine_shared_jvm.py": Allowed(
        Counts(sleep=2), "polls in the text of a program, which cannot import the helper"
    ),
    "conformance/streams/test_engine_prints.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_python_functions.py": Allowed(Counts(poll=2), POLLS),
    "conformance/streams/test_engine_relative_paths.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_repartition.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_shapes.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_foreign_connections.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_stream_joins.py": Allowed(Counts(poll=2), POLLS),
    "conformance/streams/test_engine_streaming.py": Allowed(
        Counts(sleep=1, deadline=1), "polls a number of times, a minute or more in all"
    ),
    "conformance/streams/test_engine_table_joins.py": Allowed(Counts(poll=1), POLLS),
    "conformance/streams/test_engine_recreated_topics.py": Allowed(
        Counts(sleep=1),
        "shows that a deleted topic does not come back: a slow machine can only miss that it does",
    ),
    "conformance/test_local_broker.py": Allowed(
        Counts(deadline=2), "nothing comes while the broker is paused or its answers are delayed"
    ),
    "conformance/test_start_checks.py": Allowed(
        Counts(elapsed=1),
        "one refused connection is distinguished from the start of a JVM and a client's retry, 37 s",
    ),
    "conformance/test_cli_clients.py": Allowed(
        Counts(elapsed=1),
        "one refused connection is distinguished from a client's own retry of 15 s",
    ),
    "conformance/test_cli_state.py": Allowed(Counts(poll=1), POLLS),
    "conformance/test_demo.py": Allowed(Counts(poll=1), POLLS),
    "conformance/test_partition_without_leader.py": Allowed(
        Counts(deadline=1), "a call that is to run out of time"
    ),
    "conformance/test_current_rows.py": Allowed(
        Counts(sleep=1, poll=1, elapsed=2),
        "shows that nothing is shown after a stop; a client's own retry of 15 s is distinguished from one answer; polls",
    ),
    "fault/campaign.py": Allowed(
        Counts(sleep=3, poll=4), "random moments of kills, by a printed seed; polls"
    ),
    "fault/shared_server.py": Allowed(
        Counts(sleep=2), "starts and stops of queries that take a while, while servers join and end"
    ),
    "fault/time_limit_sample.py": Allowed(
        Counts(sleep=1, deadline=1),
        "its subject is a time limit that strikes a call that never returns",
    ),
    "fault/test_bad_clients.py": Allowed(Counts(poll=1), POLLS),
    "fault/test_bad_connections.py": Allowed(
        Counts(sleep=1, poll=1, deadline=1, elapsed=1),
        "the interval in which processor time is measured; a writer that gives up after 3 s; an idle time at least",
    ),
    "fault/test_broker_kills.py": Allowed(
        Counts(sleep=1), "random moments of kills, by a printed seed"
    ),
    "fault/test_counts_on_cluster.py": Allowed(
        Counts(sleep=1), "polls in the text of a program, which cannot import the helper"
    ),
    "fault/test_engine_disk.py": Allowed(
        Counts(sleep=1), "polls in the text of a program, which cannot import the helper"
    ),
    "fault/test_engine_kills.py": Allowed(
        Counts(sleep=2, poll=2),
        "random moments of kills, by a printed seed; polls and looks whether the engine still runs",
    ),
    "fault/test_engine_restarts.py": Allowed(
        Counts(sleep=2), "polls in the text of a program, which cannot import the helper"
    ),
    "fault/test_group_churn.py": Allowed(
        Counts(sleep=1), "members that join and leave at random, by a printed seed"
    ),
    "fault/test_hdfs.py": Allowed(Counts(deadline=1), "the pace at which a loop asks again"),
    "fault/test_memory_of_requests.py": Allowed(Counts(poll=1), POLLS),
    "fault/test_orphans.py": Allowed(Counts(sleep=1), "a program that lives until it is killed"),
    "fault/test_random_kills.py": Allowed(
        Counts(sleep=1, poll=1),
        "random moments of kills, by a printed seed; polls and looks whether the engine still runs",
    ),
    "fault/test_spark_cluster.py": Allowed(
        Counts(poll=2, elapsed=1), "a deadline of minutes for a row; polls"
    ),
    "fault/test_time_on_cluster.py": Allowed(
        Counts(sleep=1, poll=1),
        "paces the records that are sent; polls and looks whether the engine still runs",
    ),
    "fault/test_transaction_kills.py": Allowed(
        Counts(sleep=1, poll=1), "moments of kills, each a little later than the last one; polls"
    ),
    "unit/registry/turns.py": Allowed(
        Counts(sleep=1),
        "turns of an event loop without any time: other tasks run to their next wait",
    ),
    "unit/broker/event_loop/test_time_slices.py": Allowed(
        Counts(elapsed=2), "measured on a fake clock"
    ),
    "unit/broker/network/test_request_order.py": Allowed(
        Counts(sleep=1), "a handler that takes long; a slow machine only makes it longer"
    ),
    "unit/cli/kafka/test_connection.py": Allowed(
        Counts(elapsed=1),
        "one refused connection is distinguished from a client's own retry of 15 s",
    ),
    "unit/cli/test_signals.py": Allowed(
        Counts(sleep=1), "a prompt that would continue; the signal ends it at once"
    ),
    "unit/dsl/expressions/test_python_functions.py": Allowed(
        Counts(sleep=1), "sleep(0) lets the event loop go round once"
    ),
    "unit/engine/checkpoint/remote/test_owner.py": Allowed(
        Counts(elapsed=2), "a lease lasts at least so long"
    ),
    "unit/engine/query/callbacks/test_for_each_callbacks.py": Allowed(
        Counts(deadline=1), "the pace at which a loop asks again"
    ),
    "unit/engine/jvm/test_orphan_guard.py": Allowed(
        Counts(sleep=1), "programs that live until they are killed"
    ),
    "unit/engine/query/test_query_registry.py": Allowed(
        Counts(deadline=1), "shows that a thread waits: a slow machine only sees less"
    ),
    "unit/engine/spark/test_session.py": Allowed(
        Counts(sleep=1, deadline=1),
        "a process that ends a second after its input; shows that another one is not killed",
    ),
    "unit/functions/test_called.py": Allowed(
        Counts(sleep=5),
        "a function of users that never returns, or takes long; a slow machine only makes it longer",
    ),
    "unit/functions/test_worker.py": Allowed(
        Counts(sleep=3, poll=1),
        "a function that never returns; a parent that waits to be killed; polls for the end of a process",
    ),
    "unit/kernel/test_poisoned_folds.py": Allowed(
        Counts(sleep=1),
        "a function of users that never returns, or takes long; a slow machine only makes it longer",
    ),
    "unit/kernel/test_poisoned_functions.py": Allowed(
        Counts(sleep=2),
        "a function of users that never returns, or takes long; a slow machine only makes it longer",
    ),
    "unit/kernel/test_processors.py": Allowed(
        Counts(sleep=1),
        "a function of users that never returns, or takes long; a slow machine only makes it longer",
    ),
    "unit/kernel/test_python_functions.py": Allowed(
        Counts(sleep=2),
        "a function of users that never returns, or takes long; a slow machine only makes it longer",
    ),
    "unit/protocol/test_large_requests.py": Allowed(Counts(poll=1), POLLS),
    "unit/runtime/metrics/test_collector.py": Allowed(
        Counts(elapsed=1),
        "starting a thread is distinguished from waiting for an endpoint's timeout",
    ),
    "unit/runtime/sql/test_engine.py": Allowed(
        Counts(sleep=1), "a broker is away for longer than a session lasts"
    ),
    "unit/runtime/sql/test_sessions.py": Allowed(
        Counts(deadline=1), "shows that a statement waits until the test lets it continue"
    ),
    "unit/runtime/sql/persistent/test_moving_queries.py": Allowed(
        Counts(deadline=1), "shows that a close has not returned"
    ),
    "unit/runtime/sql/persistent/test_query_supervisor.py": Allowed(
        Counts(deadline=1, elapsed=1),
        "shows that a query has not settled; pauses last at least so long",
    ),
    "unit/runtime/test_broker_probe.py": Allowed(
        Counts(elapsed=1),
        "one refused connection is distinguished from a client's own retry of 15 s",
    ),
    "unit/runtime/test_broker_process.py": Allowed(
        Counts(sleep=2, deadline=2),
        "programs that live until they are ended; a start and a stop that are to run out of time",
    ),
}
