r"""The commit topic: what an application has committed, for the case that its checkpoint is lost.

    key "application"            the facts fixed by the first start: `application.json`
    key "application spark-2"    the facts fixed by an upgrade, whose Spark checkpoint has this name
    key "epoch"                  the last commit, written by the kernel and by each start
    key "generations"            the earlier generations, written by each start
                                 {"generation": 3, "generations": [[1, 40], [2, 8]]}

    {"generation": 3, "epoch": 17, "offsets": "v1\n{…}\n{…}", "query": "…", "number": 17}

A generation is one start of a query on one checkpoint; its epochs are the numbers in Spark's log.
An entry of a changelog is committed if its epoch is at most the last one of its generation.
`offsets` is the text of Spark's entry: where each source continues. `query` is Spark's id of the
query that committed it, `number` its number there: equal to `epoch`, unless it is of an earlier
generation. `state` selects the facts that apply, "spark" if missing: so a single record switches
from the topology before an upgrade to the one after it, with the first commit of the new one.

Each start adds a generation, forever, so a commit does not repeat the list. The "epoch" written by
a start contains it; afterwards it is written under its own key, before any commit follows. Older
versions of Duolog repeat it in each "epoch". `docs/internals/formats.md` describes all fields.
"""

import contextlib
import json
import time
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from duolog.engine.changelog.changelogs import ENTRY_BYTES_MAX, commit_topic
from duolog.engine.checkpoint.generations import BEFORE_ALL, Generations
from duolog.engine.client_options import ClientOptions, client_options
from duolog.engine.errors import BrokerUnreachable, CheckpointDamaged
from duolog.engine.json_object import Json
from duolog.engine.settings import EngineConfig

_APPLICATION: Final = "application"
_EPOCH: Final = "epoch"
_GENERATIONS: Final = "generations"
_FIRST_STATE: Final = "spark"
_TIMEOUT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Committed:
    """The last commit."""

    generation: int
    epoch: int
    generations: Generations
    offsets: str | None
    """The text of Spark's entry; None if nothing was committed."""
    committed_at_ms: int | None = None
    query: str = ""
    """Spark's id of the query that committed it, and its number there."""
    number: int = BEFORE_ALL
    state: str = _FIRST_STATE
    """The name of the Spark checkpoint that it was committed to."""

    @property
    def all_generations(self) -> Generations:
        return [*self.generations, (self.generation, self.epoch)]

    def head(self) -> Json:
        """Return the fields that each commit of the generation has."""
        return {"generation": self.generation, "state": self.state}


@dataclass(frozen=True, slots=True)
class StoredCommits:
    """The complete content of the topic."""

    application: Json
    committed: Committed


class CommitTopic:
    """The commit topic of one application. Threads: one at a time."""

    def __init__(self, config: EngineConfig, application_id: str) -> None:
        self._options = client_options(config)
        self._application_id = application_id
        self.name = commit_topic(config.internal_prefix + application_id)

    def write_application(self, content: Json) -> None:
        """Write the facts that the first start or an upgrade fixed; return once acknowledged.

        Raises:
            BrokerUnreachable: no broker answers in time, or it refuses the record.
        """
        self._write(_key(str(content.get("state", _FIRST_STATE))), content)

    def write_start(self, committed: Committed) -> None:
        """Write that a generation starts; raises as `write_application`."""
        content = committed.head() | {"epoch": committed.epoch, "offsets": committed.offsets}
        content |= {"query": committed.query, "number": committed.number}
        listed = {"generation": committed.generation, "generations": committed.generations}
        # In one record, so that a crash afterwards leaves no partial information.
        self._write(_EPOCH, content | listed | {"committed_at": committed.committed_at_ms})
        self._write(_GENERATIONS, listed)

    def read(self) -> StoredCommits | None:
        """Return the content of the topic, which must exist; None if it is empty.

        Raises:
            BrokerUnreachable: no broker answers in time.
            CheckpointDamaged: its content cannot be parsed.
        """
        found: dict[str, Json] = {}
        try:
            for key, value in self._records():
                found[key] = json.loads(value)
            epoch = found.get(_EPOCH, {})
            application = found.get(_key(str(epoch.get("state", _FIRST_STATE))))
            if application is None or not epoch:
                return None
            generation = int(epoch["generation"])
            committed = Committed(
                generation,
                int(epoch["epoch"]),
                _generations_before(generation, epoch, found.get(_GENERATIONS, {})),
                epoch["offsets"],
                epoch.get("committed_at"),
                str(epoch["query"]),
                int(epoch["number"]),
                str(epoch.get("state", _FIRST_STATE)),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointDamaged(
                f'topic "{self.name}" of application "{self._application_id}" cannot be read',
                query_id=self._application_id,
                detail=f"{error!r}. It records which entries of the changelogs were committed.",
                hint=f"`duolog state reset {self._application_id}` starts again from the source "
                "topics.",
            ) from error
        return StoredCommits(application, committed)

    def read_applications(self) -> list[Json]:
        """Return all facts that first starts and upgrades have fixed, oldest first.

        Unreadable ones are left out. Empty if the topic, which must exist, is not a commit topic.

        Raises:
            BrokerUnreachable: no broker answers in time.
        """
        found: list[Json] = []
        for key, value in self._records():
            if key.partition(" ")[0] == _APPLICATION:
                with contextlib.suppress(ValueError, RecursionError):
                    content = json.loads(value)
                    found += [content] if isinstance(content, dict) and "shape" in content else []
        return found

    def _records(self) -> list[tuple[str, bytes]]:
        return records_in(self.name, self._options, self._application_id)

    def _write(self, key: str, content: Json) -> None:
        producer = Producer(
            {
                **self._options,
                "acks": "all",
                "enable.idempotence": True,
                # The topic's limit: the facts grow with each start.
                "message.max.bytes": ENTRY_BYTES_MAX,
            }
        )
        failed: list[KafkaError] = []

        def told(error: KafkaError | None, _record: object) -> None:
            if error is not None:
                failed.append(error)

        producer.produce(self.name, json.dumps(content).encode(), key.encode(), on_delivery=told)
        if producer.flush(_TIMEOUT_S) or failed:
            why = failed[0].str() if failed else "no answer in time"
            raise _unreachable(self.name, self._application_id, why)


def is_commit(key: str) -> bool:
    """Return whether a record has one of the keys of a commit topic."""
    return key.partition(" ")[0] == _APPLICATION or key in {_EPOCH, _GENERATIONS}


def _generations_before(generation: int, epoch: Json, listed: Json) -> Generations:
    """Return the generations before that of an epoch record, from the record or from `listed`.

    Raises:
        ValueError: the list is missing or outdated.
    """
    told = epoch if "generations" in epoch else listed
    if told.get("generation", -1) < generation:
        raise ValueError(f"no list of the generations before {generation}")
    # A start may have listed its own generation already; numbers only grow.
    found = [(int(number), int(last)) for number, last in told["generations"]]
    return [(number, last) for number, last in found if number < generation]


def records_in(
    topic: str, options: ClientOptions, application_id: str, records_max: int | None = None
) -> list[tuple[str, bytes]]:
    """Return keys and values of the first `records_max` records of an internal topic, in order.

    The topic must exist and have one partition.

    Raises:
        BrokerUnreachable: no broker answers in time.
    """
    consumer = Consumer(
        {
            **options,
            "group.id": f"duolog-{application_id}-commits",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    found: list[tuple[str, bytes]] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        deadline = time.monotonic() + _TIMEOUT_S
        while records_max is None or len(found) < records_max:
            record = consumer.poll(max(0.0, deadline - time.monotonic()))
            if record is None:
                raise _unreachable(topic, application_id, "no answer in time")
            error = record.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its only name
                    break
                raise _unreachable(topic, application_id, error.str())
            key, value = record.key(), record.value()
            if key is not None and value is not None:
                found.append((bytes(key).decode(errors="replace"), bytes(value)))
    except KafkaException as error:
        raise _unreachable(topic, application_id, str(error)) from error
    finally:
        consumer.close()
    return found


def _unreachable(topic: str, application_id: str, why: str) -> BrokerUnreachable:
    return BrokerUnreachable(
        f'topic "{topic}" cannot be read or written',
        query_id=application_id,
        detail=f"{why}.",
    )


def _key(state: str) -> str:
    return _APPLICATION if state == _FIRST_STATE else f"{_APPLICATION} {state}"
