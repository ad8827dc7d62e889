"""Prometheus text, and the endpoint that serves it."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from duolog.core.errors import ConfigError
from duolog.engine.query.metrics import Metrics
from duolog.runtime.metrics import endpoint as endpoints
from duolog.runtime.metrics.endpoint import ApplicationsEndpoint, serve_metrics
from duolog.runtime.metrics.exposition import exposition
from duolog.runtime.metrics.rows import AGES, ROWS
from unit.engine.query.metrics_samples import full_metrics

NAME = re.compile(r"[a-z_:][a-z0-9_:]*")


def samples(*applications: Metrics) -> dict[str, float]:
    text = "".join(exposition(applications))
    rows = (row.rpartition(" ") for row in text.splitlines() if not row.startswith("#"))
    return {name: float(value) for name, _, value in rows}


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApplicationsEndpoint]:
    monkeypatch.setattr(endpoints, "local_applications", lambda: [full_metrics()])
    endpoint = serve_metrics("127.0.0.1:0")
    yield endpoint
    endpoint.close()


def get(endpoint: ApplicationsEndpoint, path: str) -> bytes:
    with urllib.request.urlopen(f"http://{endpoint.address}{path}", timeout=60) as answer:
        body: bytes = answer.read()
    return body


def test_names_follow_prometheus_and_counters_end_in_total() -> None:
    assert all(NAME.fullmatch(row.name) for row in ROWS)
    assert {row.name.endswith("_total") for row in ROWS if row.kind == "counter"} == {True}
    assert not any(row.name.endswith("_total") for row in ROWS if row.kind == "gauge")


def test_metrics_are_labelled_by_node_and_task_by_topic_and_by_phase() -> None:
    reported = samples(full_metrics())

    node = '{application_id="sums",task_id="1_0",processor_node_id="fold"'
    assert reported[f"kafka_streams_stream_processor_node_metrics_process_total{node}}}"] == 3
    dropped = "kafka_streams_stream_task_metrics_dropped_records_total"
    assert reported[f'{dropped}{node},reason="late"}}'] == 1
    orders = '{application_id="sums",topic="orders",partition="0"}'
    assert reported[f"kafka_consumer_consumer_fetch_manager_metrics_records_lag{orders}"] == 6
    assert reported[f"duolog_records_lag_seconds{orders}"] == 1.3
    store = '{application_id="sums",task_id="1_0",rocksdb_state_id="sums"}'
    assert reported[f"kafka_streams_stream_state_metrics_estimate_num_keys{store}"] == 4
    assert reported[f"duolog_store_bytes{store}"] == 80
    assert reported[f"duolog_store_counted_timestamp_seconds{store}"] == 1.5
    phases = "duolog_epoch_phase_seconds_total"
    assert reported[f'{phases}{{application_id="sums",phase="addBatch"}}'] == 0.3
    assert f'{phases}{{application_id="sums",phase="triggerExecution"}}' not in reported


def test_result_ages_are_a_histogram_with_an_inf_bucket() -> None:
    reported = samples(full_metrics())

    labels = 'application_id="sums",topic_name="sums"'
    assert reported[f'{AGES}_bucket{{{labels},le="0"}}'] == 2
    assert reported[f'{AGES}_bucket{{{labels},le="+Inf"}}'] == 3
    assert reported[f"{AGES}_count{{{labels}}}"] == 3


def test_a_family_has_its_head_once_for_several_applications() -> None:
    text = "".join(exposition([full_metrics(), full_metrics()]))

    heads = [row for row in text.splitlines() if row.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
    assert {row.split()[2] for row in heads} >= {row.name for row in ROWS}


def test_served_metrics_can_be_scraped_and_read_by_top(served: ApplicationsEndpoint) -> None:
    assert b"duolog_application_info" in get(served, "/metrics")
    (reported,) = json.loads(get(served, "/applications"))
    assert Metrics.from_json(reported) == full_metrics()
    assert json.loads(get(served, "/health")) == {"alive": True}


def test_the_process_is_not_ready_before_an_application_starts(
    served: ApplicationsEndpoint,
) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(served, "/ready")

    refused.value.close()
    assert refused.value.code == 503


def test_an_address_beyond_loopback_is_refused() -> None:
    with pytest.raises(ConfigError, match="beyond loopback") as refused:
        serve_metrics("0.0.0.0:0")

    assert "127.0.0.1" in refused.value.hint
