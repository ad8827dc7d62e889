r"""What an application has committed, as its topic of commits says it: outside of the checkpoint, which may be lost.

    key "application"            what the first start fixed: `application.json`
    key "application spark-2"    what an upgrade has fixed, whose Spark checkpoint is called so
    key "epoch"                  the last commit, by the kernel (`CommitTopic`) and by each start
    key "generations"            {"generation": 3, "generations": [[1, 40], [2, 8]]}: those before this one, by each start

    {"generation": 3, "epoch": 17, "offsets": "v1\n{…}\n{…}", "query": "…", "number": 17}

A generation is one start of a query on one checkpoint; its epochs are the numbers in Spark's log. An entry of a changelog was
committed if its epoch is not above the last one of its generation. `offsets` is the text of Spark's entry: where each source
goes on. `query` is Spark's id of the query that has committed it, `number` its number there: `epoch`, unless it is of an earlier
generation. `state` says which of the contents counts, "spark" where it is missing: so one record turns from the topology before
an upgrade to the one behind it, with that one's first commit.

There is one generation more with each start, for ever: so a commit does not have their list. A start's own "epoch" has it, and
behind that it is written under its own key, before any commit follows; one of an earlier Duolog has it in each "epoch".
"""

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from duolog.engine.changelog.changelogs import ENTRY_BYTES_MAX, commit_topic
from duolog.engine.checkpoint.generations import BEFORE_ALL, Generations
from duolog.engine.errors import BrokerUnreachable, CheckpointDamaged
from duolog.engine.settings import EngineConfig

Json = dict[str, Any]

_APPLICATION: Final = "application"
_EPOCH: Final = "epoch"
_GENERATIONS: Final = "generations"
_FIRST_STATE: Final = "spark"
_TIMEOUT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Committed:
    """What was committed last."""

    generation: int
    epoch: int
    generations: Generations
    offsets: str | None
    """The text of Spark's entry; None where nothing was committed."""
    committed_at_ms: int | None = None
    query: str = ""
    """Spark's id of the query that has committed it, and its number there."""
    number: int = BEFORE_ALL
    state: str = _FIRST_STATE
    """The name of Spark's checkpoint that it was committed to."""

    @property
    def all_generations(self) -> Generations:
        return [*self.generations, (self.generation, self.epoch)]

    def head(self) -> Json:
        """Return what each commit of the generation has."""
        return {"generation": self.generation, "state": self.state}


@dataclass(frozen=True, slots=True)
class Kept:
    """All that the topic says."""

    application: Json
    committed: Committed


class CommitTopic:
    """The topic of one application. Threads: one at a time."""

    def __init__(self, config: EngineConfig, application_id: str) -> None:
        self._options: dict[str, Any] = {**config.client_options, "log_level": 0}
        self._options["bootstrap.servers"] = config.bootstrap_servers
        self._application_id = application_id
        self.name = commit_topic(config.internal_prefix + application_id)

    def write_application(self, content: Json) -> None:
        """Keep what the first start or an upgrade fixed; returns once it is acknowledged.

        Raises:
            BrokerUnreachable: no broker answers in time, or it refuses it.
        """
        self._write(_key(str(content.get("state", _FIRST_STATE))), content)

    def write_start(self, committed: Committed) -> None:
        """Keep that a generation begins; raises as `write_application`."""
        content = committed.head() | {"epoch": committed.epoch, "offsets": committed.offsets}
        content |= {"query": committed.query, "number": committed.number}
        listed = {"generation": committed.generation, "generations": committed.generations}
        # In one record, so that a crash behind it leaves nothing half told.
        self._write(_EPOCH, content | listed | {"committed_at": committed.committed_at_ms})
        self._write(_GENERATIONS, listed)

    def read(self) -> Kept | None:
        """Return what the topic, which exists, says; None where it says nothing yet.

        Raises:
            BrokerUnreachable: no broker answers in time.
            CheckpointDamaged: what it says cannot be read.
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
                detail=f"{error!r}. It says what of the changelogs was committed.",
                hint=f"`duolog state reset {self._application_id}` begins anew, from the source topics.",
            ) from error
        return Kept(application, committed)

    def read_applications(self) -> list[Json]:
        """Return all that first starts and upgrades have fixed, the oldest first; what cannot be read is left out.

        Nothing where the topic, which exists, is none of commits.

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
                # As much as the topic takes: what is fixed grows with each start.
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


def _generations_before(generation: int, epoch: Json, listed: Json) -> Generations:
    """Return the generations before the one of an epoch, which has them itself or in what was `listed` apart.

    Raises:
        ValueError: the list is missing, or one of before.
    """
    told = epoch if "generations" in epoch else listed
    if told.get("generation", -1) < generation:
        raise ValueError(f"no list of the generations before {generation}")
    # Whoever goes on may have listed its own already; numbers grow.
    found = [(int(number), int(last)) for number, last in told["generations"]]
    return [(number, last) for number, last in found if number < generation]


def records_in(
    topic: str, options: Mapping[str, Any], application_id: str, records_max: int | None = None
) -> list[tuple[str, bytes]]:
    """Return keys and values of an internal topic of one partition, which exists, in their order; the first `records_max`.

    `options` are the client's, with `bootstrap.servers`.

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
