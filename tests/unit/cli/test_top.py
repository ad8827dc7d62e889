"""`duolog top`: rates from two snapshots, and the tables shown."""

import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from rich.console import Console

from duolog.cli.commands import top as command
from duolog.cli.errors import NotServed
from duolog.cli.main import main
from duolog.cli.top import snapshots
from duolog.cli.top.screen import Inside, screen, with_warnings
from duolog.cli.top.snapshots import application_row, node_rows, partition_rows, store_rows
from duolog.engine.query.metrics import Metrics
from unit.engine.query.metrics_samples import full_metrics

Look = Callable[..., dict[tuple[str, str], Metrics]]


def later() -> Metrics:
    return replace(full_metrics(), at_ms=4000, records_in=803, late={"fold": 2})


def inside(where: str = "77") -> Inside:
    rows = node_rows(later(), full_metrics()), store_rows(later()), partition_rows(later())
    return Inside(where, *rows)


def shown(width: int, *rows: dict[str, object], insides: Sequence[Inside] = ()) -> str:
    console = Console(width=width, record=True)
    console.print(screen(rows, insides))
    return console.export_text()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application, sampled twice."""
    seen = iter([full_metrics(), later()])

    def poll(addresses: tuple[str, ...] = ()) -> dict[tuple[str, str], Metrics]:
        del addresses
        return {("77", "sums"): next(seen)}

    monkeypatch.setattr(snapshots, "look", poll)
    monkeypatch.setattr(command, "_FIRST_S", 0)


def test_rates_are_computed_between_two_snapshots() -> None:
    row = application_row("77", later(), full_metrics())

    assert (row["in_per_s"], row["out_per_s"]) == (400, 0)
    assert (row["lag_records"], row["lag_s"], row["late"]) == (6, 3.3, 2)
    assert (row["epoch_ms"], row["phases_ms"]) == (None, {"work": 40})
    assert application_row("77", later(), None)["in_per_s"] is None


def test_nodes_are_summed_over_tasks_and_partitions_are_listed() -> None:
    (node,) = node_rows(later(), full_metrics())
    (partition,) = partition_rows(later())

    assert node == {
        "node": "fold",
        "tasks": 1,
        "in_per_s": 0,
        "process_total": 3,
        "forward_total": 2,
        "dropped": 1,
    }
    assert (partition["topic"], partition["lag_records"]) == ("orders", 6)


@pytest.mark.parametrize("width", [160, 80, 40])
def test_a_narrow_terminal_has_fewer_columns_and_no_half_numbers(width: int) -> None:
    console = Console(width=width, record=True)

    console.print(screen([application_row("77", later(), full_metrics())], [inside()]))

    text = console.export_text()
    assert "…" not in text
    assert "APPLICATION" in text
    assert "sums" in text
    assert ("SPENT ON" in text) is (width == 160)
    assert "LAG" in text


def test_the_screen_has_a_line_per_application_or_states_that_none_runs() -> None:
    console = Console(width=160, record=True)

    console.print(screen([application_row("77", later(), full_metrics())]))
    console.print(screen([]))

    text = console.export_text()
    assert "APPLICATION" in text
    assert "work 40 ms" in text
    assert "No application is running" in text


@pytest.mark.usefixtures("runs")
def test_without_a_terminal_it_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "sums"]) == 0

    shown = capsys.readouterr().out
    assert "fold" in shown
    assert "400" in shown


@pytest.mark.usefixtures("runs")
def test_as_json_it_is_an_array_of_applications(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "-o", "json"]) == 0

    (row,) = json.loads(capsys.readouterr().out)
    assert (row["application"], row["where"], row["in_per_s"]) == ("sums", "77", 400)
    assert list(row) == [column.name for column in command.COLUMNS]


@pytest.mark.usefixtures("runs")
def test_an_unknown_application_is_reported_with_the_running_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["top", "other"]) != 0

    assert 'application "other" is not running on this machine' in capsys.readouterr().err


def test_an_address_without_metrics_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--metrics", "127.0.0.1:1"]) == 5

    assert 'no application serves metrics at "127.0.0.1:1"' in capsys.readouterr().err


def test_stores_are_listed_by_task_with_rows_and_age_of_the_count() -> None:
    (store,) = store_rows(later())

    assert store == {"store": "sums", "task": "1_0", "rows": 4, "bytes": 80, "counted_s_ago": 2}
    text = shown(160, application_row("77", later(), None), insides=[inside()])
    assert re.search(r"sums +1_0 +4 +80 B +2\b", text)


@pytest.mark.parametrize("width", [160, 60, 30])
def test_two_applications_with_one_name_are_distinguished_on_any_width(width: int) -> None:
    rows = [application_row(where, later(), None) for where in ("4711", "4712")]

    text = shown(width, *rows, insides=[inside("sums at 4711"), inside("sums at 4712")])

    assert re.findall(r"(?m)^sums +(471\d)", text) == ["4711", "4712"]
    assert re.findall(r"sums at (\d+)", text) == ["4711", "4712"]
    assert len(re.findall(r"(?m)^fold ", text)) == 2


@pytest.mark.parametrize("width", [200, 60, 30])
def test_a_long_name_wraps_and_no_number_is_truncated(width: int) -> None:
    name = "an-application-with-a-name-that-nobody-can-remember"
    row = application_row("77", replace(later(), application_id=name), full_metrics())

    text = shown(width, row)

    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    begins = re.findall(r"(?m)^[a-z-]+", text)
    assert "".join(begins) == name
    assert re.search(r"\b6\b", text), "its lag"


@pytest.mark.usefixtures("ends_and_comes_back")
def test_a_watched_application_that_ends_is_reported_and_shown_when_it_restarts() -> None:
    terminal = io.StringIO()
    console = Console(width=100, file=terminal, force_terminal=True, color_system=None)

    with pytest.raises(KeyboardInterrupt):
        command._watch("sums", (), 0, console)  # noqa: SLF001 - without end on a terminal

    text = terminal.getvalue()
    ended = text.index('Application "sums" is not running')
    assert "sums" in text[:ended]
    assert "restarting" in text[ended:]
    # A restarted JVM has counted less: no rate is shown, and no negative one.
    assert not re.search(r"-\d", text)


@pytest.fixture
def ends_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    again = replace(full_metrics(), at_ms=9000, records_in=1, state="restarting")
    seen = iter(
        [
            {("77", "sums"): full_metrics()},
            {("9", "other"): full_metrics()},
            {("78", "sums"): again},
        ]
    )

    def poll(addresses: tuple[str, ...] = ()) -> dict[tuple[str, str], Metrics]:
        del addresses
        try:
            return next(seen)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(snapshots, "look", poll)
    monkeypatch.setattr(command, "_FIRST_S", 0)


@pytest.fixture
def older() -> dict[str, object]:
    """Metrics of an older Duolog, which did not count the rows of stores."""
    reported = full_metrics().to_json()
    for task in reported["tasks"]:
        del task["stores"]
    return {**reported, "pid": 12}


def test_a_process_of_another_version_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, older: dict[str, object]
) -> None:
    newer = {**full_metrics().to_json(), "pid": 13, "more": 1}
    reported = [older, {**full_metrics().to_json(), "pid": 14}, newer]
    monkeypatch.setattr(snapshots, "list_applications", lambda: reported)

    # Unknown fields of a newer version are ignored.
    assert [where for where, _ in snapshots.look()] == ["14", "13"]


def test_an_address_of_another_version_is_named(
    monkeypatch: pytest.MonkeyPatch, older: dict[str, object]
) -> None:
    monkeypatch.setattr(snapshots, "_ask", lambda _: [older])

    with pytest.raises(NotServed, match='the metrics at "h:1" come from another version of Duolog'):
        snapshots.look(["h:1"])


def test_a_server_that_is_open_to_the_network_is_shown_in_red() -> None:
    shown = with_warnings(screen([]), ["broker, listener A at 0.0.0.0:1: nothing is encrypted"])
    console = Console(width=120, record=True)

    console.print(shown)

    lines = console.export_text().splitlines()
    assert lines[0] == "INSECURE: broker, listener A at 0.0.0.0:1: nothing is encrypted"
    assert lines[1].startswith("No application is running.")
