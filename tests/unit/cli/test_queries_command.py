"""`duolog queries` and `duolog lineage` against answers of a server."""

import base64
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from duolog.cli.main import main
from duolog.cli.top.queries import COLUMNS
from duolog.runtime.sql.figures.query_figures import Flow, Lag, QueryFigures, StoreFigures
from duolog.server.operations.lineage import with_rates
from duolog.server.operations.queries import query_json
from unit.server.operations.catalog_service import Service

LARGE, PAID = "CSAS_LARGE_0", "CSAS_PAID_1"
FIGURES = QueryFigures(
    LARGE,
    1_000,
    server="db:8088",
    restarts=2,
    records_in=Flow(100, 12.34),
    records_out=Flow(50, 6.0),
    topics_out={"LARGE": Flow(50, 6.5)},
    lag=Lag(1_200, "rising", 61_499, "falling"),
    errors={"processing": 3, "functionCalls": 1},
    stores=(StoreFigures("a", 7, 70, None), StoreFigures("b", 2, 20, None)),
    state_bytes=4_096,
)


class Stub:
    """A server with known answers, which keeps the requests."""

    def __init__(self) -> None:
        self.service = Service()
        self.requests: list[tuple[str, str]] = []
        self.status: int | None = None
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stub.requests.append((self.path, self.headers.get("Authorization", "")))
                status, found = stub.answer(self.path.partition("?")[0])
                body = json.dumps(found).encode() if found is not None else b"<html>"
                self.send_response(stub.status or status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> tuple[int, Any]:
        state = self.service.state_for(None, self.service.session().state)  # type: ignore[arg-type]
        known = {
            name: query_json(one, FIGURES if name == LARGE else None)
            for name, one in state.queries.items()
        }
        found = {
            "/v1/queries": {"version": 1, "queries": list(known.values())},
            f"/v1/queries/{LARGE}": {"version": 1, **known[LARGE]},
            "/v1/lineage": with_rates(self.service.whole, {LARGE: FIGURES}),
            "/v1/lineage/html": None,
        }
        if path == "/v1/queries/LOCKED":
            return 401, {"error_code": 40100, "message": "Unauthorized"}
        error = {"@type": "generic_error", "error_code": 40400, "message": "no"}
        return (200, found[path]) if path in found else (404, error)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def stub() -> Iterator[Stub]:
    found = Stub()
    yield found
    found.close()


def test_queries_are_a_table_with_trends(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    stub.service.note(PAID, error="no disk", state="ERROR")

    assert main(["queries", "--server", stub.url]) == 0

    heads, large, paid, error = capsys.readouterr().out.splitlines()
    assert heads.split() == [
        *("QUERY", "STATE", "IN", "PER", "S", "OUT", "PER", "S", "LAG", "LAG", "S", "ERRORS"),
        *("ROWS", "RESTARTS", "RESULT", "AGE", "S", "UPTIME", "S", "SERVER", "JVM", "GROUP"),
    ]
    assert large.split() == [
        *(LARGE, "RUNNING", "12.3", "6.0", "1200", "↑", "61.5", "↓", "4", "9", "2", "-", "-"),
        *("db:8088", "default"),
    ]
    assert paid.split()[:5] == [PAID, "ERROR", "-", "-", "-"]
    assert error == f"{PAID}: no disk"


def test_a_missing_login_is_reported_with_the_options_of_the_command(
    stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["queries", "LOCKED", "--server", stub.url]) != 0

    error = capsys.readouterr().err
    assert error.startswith("error: Unauthorized\n")
    assert "--server-user with --server-password-file" in error
    assert "duolog.connect" not in error


def test_one_query_as_json(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queries", LARGE, "--server", stub.url, "-o", "json"]) == 0

    (row,) = json.loads(capsys.readouterr().out)
    assert list(row) == [column.name for column in COLUMNS]
    assert (row["lag"], row["lag_trend"], row["lag_s"], row["lag_s_trend"]) == (
        *(1_200, "rising"),
        *(61.5, "falling"),
    )
    assert (row["errors"], row["rows"], row["bytes"], row["uptime_s"]) == (4, 9, 4_096, None)


def test_an_unknown_query_an_unknown_server_and_another_server(
    stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["queries", "CSAS_NO_1", "--server", stub.url]) == 1
    assert 'the server does not know "CSAS_NO_1"' in capsys.readouterr().err

    assert main(["lineage", "html", "--server", stub.url]) == 1
    assert "is not JSON" in capsys.readouterr().err

    stub.status = 403
    assert main(["queries", "--server", stub.url]) == 1

    stub.close()
    assert main(["queries", "--server", stub.url]) == 5
    assert "no answer from" in capsys.readouterr().err


def test_the_user_and_the_password_of_a_file_are_sent(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    password, token = tmp_path / "password", tmp_path / "token"
    password.write_text("secret\n")
    token.write_text("t0ken\n")
    of = ["queries", "--server", stub.url]

    assert main([*of, "--server-user", "ann", "--server-password-file", str(password)]) == 0
    assert main([*of, "--server-token-file", str(token)]) == 0
    monkeypatch.setenv("DUOLOG_SERVER_PASSWORD", "other")
    assert main([*of, "--server-user", "ann"]) == 0
    assert main([*of]) == 0

    logins = [login for _, login in stub.requests]
    assert [base64.b64decode(logins[at][6:]) for at in (0, 2)] == [b"ann:secret", b"ann:other"]
    assert (logins[1], logins[3]) == ("Bearer t0ken", "")


def test_lineage_as_text(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lineage", "--server", stub.url, "--rates"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "LARGE (stream over topic LARGE)",
        "  query CSAS_LARGE_0 (RUNNING, 6.5 records/s)",
        "    ID      ◀ ORDERS.ID (copied)",
        "    N       ◀ ORDERS.N (copied)",
        "    (rows)  ◀ ORDERS.N (filter)",
        "",
        "ORDERS (stream over topic orders)",
        "  ID  ◀ topic orders",
        "  N   ◀ topic orders",
        "",
        "PAID (stream over topic PAID)",
        "  query CSAS_PAID_1 (RUNNING)",
        "    ID      ◀ LARGE.ID (copied)",
        "    PAY     ◀ SALARIES.N (copied)",
        "    (rows)  ◀ LARGE.ID (key), SALARIES.ID (key)",
        "",
        "SALARIES (stream over topic salaries)",
        "  ID  ◀ topic salaries",
        "  N   ◀ topic salaries",
    ]
    assert stub.requests[-1][0] == "/v1/lineage?rates=true"


def test_lineage_as_json_and_of_a_part(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lineage", "--server", stub.url, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sources"] == stub.service.whole["sources"]

    main(["lineage", "a/b", "--direction", "upstream", "--server", stub.url])
    assert stub.requests[-1][0] == "/v1/lineage/a%2Fb?direction=upstream"


def test_a_lag_without_a_trend_has_no_arrow(
    stub: Stub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "FIGURES", replace(FIGURES, lag=Lag(5)))

    assert main(["queries", LARGE, "--server", stub.url]) == 0

    assert re.search(r" 5 +- +4 ", capsys.readouterr().out)


def test_help_lists_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queries", "-o", "help"]) == 0

    assert all(column.doc in capsys.readouterr().out for column in COLUMNS[:1])


def test_a_direction_needs_a_source(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lineage", "--server", stub.url, "--direction", "upstream"]) == 2

    assert "--direction upstream needs the name" in capsys.readouterr().err
    assert stub.requests == []
