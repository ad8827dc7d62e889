"""Epochs as spans, checked by OpenTelemetry's in-memory exporter."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from duolog.engine.query.metrics import Epoch
from duolog.runtime.metrics import spans

if TYPE_CHECKING:
    from duolog.engine.query.query import RunningQuery

MS = 1_000_000
PHASES = {"addBatch": 70, "walCommit": 5, "latestOffset": 2, "triggerExecution": 90}


@dataclass
class FakeQuery:
    """Ends after its last poll; each poll finds the epochs completed by then."""

    samples: list[list[int]]
    application_id: str = "sales"
    launcher: "FakeQuery" = field(init=False)
    exchange: "FakeQuery" = field(init=False)

    has_ended = True

    def __post_init__(self) -> None:
        self.launcher = self.exchange = self

    def wait(self, _timeout_s: float) -> bool:
        return len(self.samples) == 1

    def counted(self) -> dict[str, Any]:
        numbers = self.samples.pop(0)
        last = [
            {"number": n, "id": n, "started_at": 1000, "records_in": 3, "phases": PHASES}
            for n in numbers
        ]
        return {"epochs": {"count": len(last), "last": last}}


@pytest.fixture
def exported() -> tuple[Any, InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("duolog"), exporter


def test_an_epoch_is_a_span_with_consecutive_phases_as_children(
    exported: tuple[Any, InMemorySpanExporter],
) -> None:
    tracer, exporter = exported

    made = spans.spans_of(Epoch(7, 12, 1000, 30, PHASES), "sales")
    assert spans.ProviderOfProgram(tracer).take("sales", [made])

    *phases, epoch = exporter.get_finished_spans()
    assert (epoch.name, epoch.start_time, epoch.end_time) == ("epoch", 1000 * MS, 1090 * MS)
    assert epoch.attributes == {
        "duolog.application_id": "sales",
        "duolog.epoch_id": 12,
        "duolog.records_in": 30,
    }
    assert [(one.name, one.start_time, one.end_time) for one in phases] == [
        ("latestOffset", 1000 * MS, 1002 * MS),
        ("walCommit", 1002 * MS, 1007 * MS),
        ("addBatch", 1007 * MS, 1077 * MS),
    ]
    assert {one.parent and one.parent.span_id for one in phases} == {epoch.context.span_id}


def test_each_epoch_is_exported_once_also_after_a_restart_of_the_jvm(
    exported: tuple[Any, InMemorySpanExporter],
) -> None:
    tracer, exporter = exported
    query = FakeQuery([[1, 2], [1, 2, 3], [1]])

    spans._follow(cast("RunningQuery", cast("Any", query)), spans.ProviderOfProgram(tracer))  # noqa: SLF001 - the thread's work

    epochs = [one for one in exporter.get_finished_spans() if one.name == "epoch"]
    assert [one.attributes and one.attributes["duolog.epoch_id"] for one in epochs] == [1, 2, 3, 1]


def test_no_spans_are_created_without_an_exporter() -> None:
    assert spans.trace(cast("RunningQuery", cast("Any", FakeQuery([[1]])))) is None
