"""`duolog backup` of a whole `duolog start` for a team, restored elsewhere."""

import base64
import json
import ssl
import urllib.request
from pathlib import Path
from typing import Any

import waiting
from conformance.command import Duolog
from conformance.server.started import started
from conformance.server.test_start import get

STATEMENT = (
    "CREATE STREAM visits (k VARCHAR KEY, n BIGINT) "
    "WITH (kafka_topic='visits', value_format='JSON', partitions=2);"
)


def post(url: str, user: str, ca: Path, body: object) -> Any:
    request = urllib.request.Request(  # noqa: S310 - an address that the test has started
        url,
        json.dumps(body).encode(),
        {
            "Content-Type": "application/json",
            "Authorization": f"Basic {base64.b64encode(user.encode()).decode()}",
        },
    )
    context = ssl.create_default_context(cafile=ca)
    with urllib.request.urlopen(  # noqa: S310 - as above
        request, context=context, timeout=waiting.DEADLINE_S
    ) as answer:
        return json.load(answer)


def test_streams_schemas_and_logins_come_back(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    with started(home, "--profile", "team") as one:
        addresses = one.ready()
        ca = home / "data/certificates/ca.pem"
        admin = f"admin:{(home / 'data/admin.password').read_text().strip()}"
        post(f"{addresses['server']}/ksql", admin, ca, {"ksql": STATEMENT})
        schema = {"schema": '"string"'}
        post(f"{addresses['registry']}/subjects/visits-value/versions", admin, ca, schema)

        backed_up = Duolog("").run(
            "backup", str(tmp_path / "backups"), "--data", str(home / "data")
        )

        assert backed_up.returncode == 0, backed_up.stderr
    restored = Duolog("").run(
        "restore", str(tmp_path / "backups"), "--data", str(elsewhere / "data")
    )
    assert restored.returncode == 0, restored.stderr
    with started(elsewhere, "--profile", "team") as other:
        addresses = other.ready()
        ca = elsewhere / "data/certificates/ca.pem"
        listed = post(f"{addresses['server']}/ksql", admin, ca, {"ksql": "LIST STREAMS;"})
        assert [stream["name"] for stream in listed[0]["streams"]] == ["VISITS"]
        assert get(f"{addresses['registry']}/subjects", admin, ca) == ["visits-value"]
    login = (elsewhere / "data/admin.properties").read_text()
    assert str(elsewhere) in login
    assert str(home) not in login
