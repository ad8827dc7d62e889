"""Each reader of a subject gets a verdict, and each reason names the column or the rule."""

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

import pytest

from duolog import Topology
from duolog.core.errors import KafkaError
from duolog.ksql.session import SqlSession
from duolog.registry.client.requests import Unanswered
from duolog.registry.in_process import InProcessRegistry
from duolog.runtime.impact.analysis import Analysis, impact_of
from duolog.runtime.impact.records import RecordTrial, StoredRecord
from duolog.runtime.impact.report import Report, Verdict
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText, UnknownSchemaError, provide, withdraw
from duolog.schemas.trial_registry import TrialRegistry
from duolog.serde.wire_format import SchemaUnavailableError
from unit.runtime.impact.fake_cluster import FakeCluster

ADDRESS = "mock://test-impact"
COMMANDS = "_duolog-ksql-default__command_topic"
STATEMENTS = """
CREATE STREAM orders WITH (kafka_topic='orders', value_format='AVRO');
CREATE STREAM amounts AS SELECT id, amount * 2 AS twice FROM orders;
CREATE STREAM notes AS SELECT id, note FROM orders WHERE amount > 0;
CREATE STREAM copies AS SELECT id, note FROM notes;
CREATE STREAM others (a INT) WITH (kafka_topic='others', value_format='JSON');
"""
ORDER = {"id": "int", "amount": "long", "note": ["null", "string"]}


def avro(fields: Mapping[str, Any], **defaults: Any) -> str:
    listed = [
        {"name": name, "type": of} | ({"default": defaults[name]} if name in defaults else {})
        for name, of in fields.items()
    ]
    return json.dumps({"type": "record", "name": "Order", "fields": listed})


def without(*names: str) -> dict[str, Any]:
    return {name: of for name, of in ORDER.items() if name not in names}


class Place:
    """A cluster with an SQL engine and a registry."""

    def __init__(self, registry: InProcessRegistry) -> None:
        self.registry = registry
        self.cluster = FakeCluster({"orders": []}, (COMMANDS,))
        self.applications: dict[str, tuple[str, ...]] = {}
        self.topologies: dict[str, Topology] = {}
        self.id = registry.register("orders-value", SchemaText(Language.AVRO, avro(ORDER)))
        self.session = SqlSession(given={"ksql.schema.registry.url": ADDRESS})
        list(self.session.run(STATEMENTS))

    def impact(self, text: str, subject: str = "orders-value", **more: Any) -> Report:
        services: list[str] = []

        def catalog(service: str) -> Any:
            services.append(service)
            return self.session.state

        def applications(names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
            return {name: self.applications[name] for name in names if name in self.applications}

        plans = {name: one.build() for name, one in self.topologies.items()}
        language = more.pop("language", Language.AVRO)
        analysis = Analysis(self.cluster, self.registry, catalog, applications, plans, **more)
        found = impact_of(subject, parse(language, text, {}), analysis)
        assert services in ([], ["default_"])
        return found


@pytest.fixture
def place() -> Iterator[Place]:
    registry = InProcessRegistry()
    provide(ADDRESS, registry)
    yield Place(registry)
    withdraw(ADDRESS)


def verdicts(report: Report) -> dict[str, str]:
    return {f"{one.kind} {one.name}": one.verdict.value for one in report.findings}


def reasons(report: Report, name: str) -> list[tuple[str, str]]:
    (found,) = [one for one in report.findings if one.name.startswith(name)]
    return [(one.path, one.text) for one in found.reasons]


def test_a_new_field_breaks_nothing(place: Place) -> None:
    report = place.impact(avro(ORDER | {"extra": "int"}, extra=0))

    assert report.verdict is Verdict.SAFE
    assert verdicts(report) == {
        "stream ORDERS": "safe",
        "query CSAS_AMOUNTS_0": "safe",
        "query CSAS_NOTES_1": "safe",
    }


def test_a_dropped_column_breaks_the_queries_that_use_it_and_those_after_them(
    place: Place,
) -> None:
    report = place.impact(avro(without("note")))

    assert report.verdict is Verdict.BREAKS
    assert verdicts(report) == {
        "stream ORDERS": "breaks",
        "query CSAS_AMOUNTS_0": "safe",
        "query CSAS_NOTES_1": "breaks",
        "query CSAS_COPIES_2": "breaks",
    }
    missing = "column NOTE is not in the schema and would be null"
    assert reasons(report, "CSAS_NOTES") == [("NOTE", missing)]
    assert reasons(report, "CSAS_COPIES") == [
        ("NOTES", "it reads NOTES, which query CSAS_NOTES_1 writes")
    ]


def test_a_column_that_is_only_in_a_condition_counts(place: Place) -> None:
    report = place.impact(avro(without("amount")))

    assert verdicts(report)["query CSAS_NOTES_1"] == "breaks"
    assert [path for path, _ in reasons(report, "CSAS_NOTES")] == ["AMOUNT"]


def test_a_retyped_column_breaks_all_queries_of_the_stream(place: Place) -> None:
    report = place.impact(avro(ORDER | {"note": "int"}))

    assert reasons(report, "CSAS_AMOUNTS") == [("NOTE", "column NOTE is STRING and would be INT")]


def test_another_language_breaks_what_reads_the_old_one(place: Place) -> None:
    text = '{"type": "object", "properties": {"id": {"type": "integer"}}}'

    report = place.impact(text, language=Language.JSON)

    assert reasons(report, "ORDERS") == [("", "it reads AVRO, and the schema is JSON")]


def test_other_topics_and_formats_are_not_named(place: Place) -> None:
    place.cluster.more_topics += ("others",)

    assert place.impact(avro(ORDER), "others-value").findings == ()


def test_consumer_groups_are_judged_as_readers_of_the_last_version(place: Place) -> None:
    place.cluster.committed = {"billing": ("orders",), "elsewhere": ("others",)}

    safe = place.impact(avro(ORDER | {"extra": "int"}))
    broken = place.impact(avro(without("amount")))

    assert verdicts(safe)["group billing"] == "safe"
    assert verdicts(broken)["group billing"] == "breaks"
    (reason,) = reasons(broken, "billing")
    assert reason[0] == "READER_FIELD_MISSING_DEFAULT_VALUE"
    assert "amount" in reason[1]
    assert "group elsewhere" not in verdicts(safe)


def test_a_topology_is_unknown_until_its_plan_is_given(place: Place) -> None:
    place.cluster.more_topics += ("totals-commits",)
    place.applications = {"totals": ("orders",), "unrelated": ("others",)}

    report = place.impact(avro(ORDER))

    assert verdicts(report)["topology totals"] == "unknown"
    assert report.verdict is Verdict.UNKNOWN


def test_a_topology_that_reads_json_is_not_named(place: Place) -> None:
    topology = Topology("totals")
    topology.stream("orders", key="id INT", value="amount BIGINT").to("out")
    place.topologies = {"totals": topology}

    assert "topology totals" not in verdicts(place.impact(avro(ORDER)))


def test_a_command_topic_that_cannot_be_read_is_a_note(place: Place) -> None:
    def catalog(service: str) -> Any:
        raise KafkaError(f"no records of {service}", code=-195)

    analysis = Analysis(place.cluster, place.registry, catalog, lambda _: {})
    report = impact_of("orders-value", parse(Language.AVRO, avro(ORDER), {}), analysis)

    assert report.verdict is Verdict.UNKNOWN
    assert report.notes == ('SQL engine "default_" cannot be inspected: no records of default_',)


def test_a_subject_without_a_topic_is_a_note(place: Place) -> None:
    report = place.impact(avro(ORDER), "nowhere-value")

    assert report.notes == ('no topic is known for subject "nowhere-value"',)
    assert report.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("RecordNameStrategy", "Order"), ("TopicRecordNameStrategy", "orders-Order")],
)
def test_topics_of_other_strategies_are_found_by_their_configs(
    place: Place, strategy: str, subject: str
) -> None:
    place.cluster.configs_of = {"orders": {"confluent.value.subject.name.strategy": strategy}}

    assert place.impact(avro(ORDER), subject).topics == ("orders",)


def record(offset: int, schema_id: int, payload: bytes) -> StoredRecord:
    return StoredRecord(0, offset, None, b"\0" + struct.pack(">I", schema_id) + payload)


def test_records_that_the_new_schema_cannot_read_are_named(place: Place) -> None:
    strict = SchemaText(Language.AVRO, avro({"id": "int"}))
    place.registry.set_compatibility("NONE")
    short = place.registry.register("orders-value", strict)
    place.cluster.records["orders"] = [
        record(0, place.id, b"\2\4\0"),
        record(1, short, b"\2"),
        StoredRecord(0, 2, None, None),
        StoredRecord(0, 3, None, b"no schema"),
        record(4, place.id, b"\2\4\0"),
    ]

    report = place.impact(avro(without("note")))

    assert report.records_read == {"orders": 3}
    assert [one.offset for one in report.broken_records] == [1]
    assert "amount" in report.broken_records[0].reason
    assert place.impact(avro(without("note")), records=1).broken_records == ()


def test_no_schema_breaks_records_that_their_own_schema_cannot_read(place: Place) -> None:
    place.cluster.records["orders"] = [
        record(0, place.id, b"\2\4\0"),
        record(1, 99, b"\2\4\0"),
        record(2, place.id, b"\2"),
    ]

    report = place.impact(avro(ORDER))

    assert report.records_read == {"orders": 1}
    assert report.broken_records == ()
    assert report.unreadable_records == 2
    assert report.verdict is Verdict.SAFE


def test_a_registry_that_stops_answering_is_an_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(schema_id: int) -> NoReturn:
        raise Unanswered("the schema registry does not answer", detail=str(schema_id))

    place.cluster.records["orders"] = [record(0, place.id, b"\2\4\0")]
    trial = RecordTrial(parse(Language.AVRO, avro(ORDER), {}), place.registry)
    monkeypatch.setattr(place.registry, "by_id", away)

    with pytest.raises(SchemaUnavailableError, match="cannot find the schema of id"):
        trial.read("orders", place.cluster.records["orders"], is_key=False)


def test_an_unknown_id_is_asked_for_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def unknown(schema_id: int) -> NoReturn:
        asked.append(schema_id)
        raise UnknownSchemaError("there is no such schema")

    trial = RecordTrial(parse(Language.AVRO, avro(ORDER), {}), place.registry)
    monkeypatch.setattr(place.registry, "by_id", unknown)

    tried = trial.read("orders", [record(n, 99, b"\2\4\0") for n in range(5)], is_key=False)

    assert tried.unreadable == 5
    assert asked == [99]


def test_a_record_is_readable_if_it_does_not_use_what_was_removed(place: Place) -> None:
    strict = avro(ORDER | {"note": "string"})
    place.cluster.records["orders"] = [
        record(0, place.id, b"\2\4\2\2a"),
        record(1, place.id, b"\2\4\0"),
    ]

    assert [one.offset for one in place.impact(strict).broken_records] == [1]


def test_a_key_is_judged_as_a_bare_value(place: Place) -> None:
    text = (
        "CREATE TABLE keyed (k INT PRIMARY KEY, v INT) "
        "WITH (kafka_topic='keyed', key_format='AVRO', value_format='JSON');"
    )
    list(place.session.run(text))
    place.cluster.more_topics += ("keyed",)

    assert verdicts(place.impact('"int"', "keyed-key")) == {"table KEYED": "safe"}
    report = place.impact('"string"', "keyed-key")
    assert reasons(report, "KEYED") == [("K", "column K is INT and would be STRING")]


def test_a_cluster_that_does_not_answer_is_an_error(place: Place) -> None:
    place.cluster.away = True

    with pytest.raises(KafkaError):
        place.impact(avro(ORDER))


def test_the_report_is_json(place: Place) -> None:
    report = place.impact(avro(without("note")))

    found = json.loads(json.dumps(report.to_json()))

    assert found["verdict"] == "breaks"
    assert found["records"] == {"read": 0, "broken": [], "unreadable": 0}
    assert found["readers"][0] == {
        "kind": "stream",
        "name": "ORDERS",
        "service": "default_",
        "reads": "orders",
        "verdict": "breaks",
        "reasons": [{"path": "NOTE", "text": "column NOTE is not in the schema and would be null"}],
    }


def test_the_number_of_questions_does_not_grow_with_the_subjects(place: Place) -> None:
    asked: list[str] = []
    latest, by_id = place.registry.latest, place.registry.by_id

    def counted(name: str, call: Any) -> Any:
        def counting(of: Any) -> Any:
            asked.append(name)
            return call(of)

        return counting

    place.registry.latest = counted("latest", latest)  # type: ignore[method-assign]
    place.registry.by_id = counted("by_id", by_id)  # type: ignore[method-assign]
    place.cluster.committed = {f"group {number}": ("orders",) for number in range(100)}
    for number in range(1000):
        place.registry.register(f"s{number}-value", SchemaText(Language.AVRO, avro(ORDER)))
        place.cluster.records[f"s{number}"] = []
    asked.clear()

    place.impact(avro(ORDER))

    assert asked == ["latest", "by_id"]


def test_the_statements_of_a_file_are_judged_and_register_nothing(place: Place) -> None:
    before = place.registry.rules.subjects()
    provide("trial://test-impact", TrialRegistry(place.registry))
    try:
        session = SqlSession(given={"ksql.schema.registry.url": "trial://test-impact"})
        text = """
            CREATE STREAM mine WITH (kafka_topic='orders', value_format='AVRO');
            CREATE STREAM other WITH (kafka_topic='other') AS SELECT note FROM mine;
            CREATE STREAM again WITH (kafka_topic='again') AS SELECT note FROM other;
        """
        list(session.run(text))
    finally:
        withdraw("trial://test-impact")
    place.session = SqlSession()

    report = place.impact(avro(without("note")), files=(session.state,))

    assert verdicts(report) == {
        "stream MINE": "breaks",
        "query CSAS_OTHER_0": "breaks",
        "query CSAS_AGAIN_1": "breaks",
    }
    assert place.registry.rules.subjects() == before
