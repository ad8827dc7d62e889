"""Runs checks in the environment of a client, one after the other, and prints a line for each.

A check is a function; its name, with spaces, is the name in the results. Clients that have no way
to send a statement use `statement`.
"""

import itertools
import json
import os
import ssl
import sys
import time
import traceback
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

URL = os.environ["SQL_URL"]
USER, PASSWORD = os.environ.get("SQL_USER", ""), os.environ.get("SQL_PASSWORD", "")
EARLIEST = {"auto.offset.reset": "earliest"}
LIMIT_S = 120
_numbers = itertools.count(int(time.time()) % 100_000 * 1000)


def name(what: str) -> str:
    """Return a name that no other check has."""
    return f"{what}_{next(_numbers)}"


def until(found: Callable[[], Any]) -> Any:
    """Call a function until it returns something true."""
    end = time.monotonic() + LIMIT_S
    while True:
        if result := found():
            return result
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def stream_statement(made: str, columns: str) -> str:
    """Return a statement that creates a stream over a topic of the same name."""
    options = f"KAFKA_TOPIC='{made}', VALUE_FORMAT='JSON', PARTITIONS=1"
    return f"CREATE STREAM {made} ({columns}) WITH ({options});"


def statement(text: str, properties: Mapping[str, str] | None = None) -> Any:
    """Run a statement without any client."""
    body = json.dumps({"ksql": text, "streamsProperties": dict(properties or {})}).encode()
    request = urllib.request.Request(f"{URL}/ksql", body)
    context = None
    if USER:
        login = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        request.add_header("Authorization", f"Basic {login}")
        context = ssl.create_default_context(cafile=os.environ["SQL_CA_FILE"])
    with urllib.request.urlopen(request, timeout=LIMIT_S, context=context) as answer:
        return json.load(answer)


def stream(what: str, columns: str = "id STRING KEY, n INT") -> str:
    """Create a stream without any client; return its name."""
    made = name(what)
    assert statement(stream_statement(made, columns))[0]["commandStatus"]["status"] == "SUCCESS"
    return made


def main(checks: Sequence[Callable[[], None]]) -> None:
    """Run the checks, or those that are named as arguments."""
    wanted = sys.argv[1:]
    for check in checks:
        title = check.__name__.replace("_", " ")
        if wanted and title not in wanted:
            continue
        try:
            check()
        except Exception as error:  # noqa: BLE001 - the reason is in the log of the suite
            reason = f"{type(error).__name__}: {error}".replace("\n", " ")[:2000]
            frames = traceback.extract_tb(error.__traceback__)
            (line,) = {one.lineno for one in frames if one.name == check.__name__}
            print(f"not ok - {title}: line {line}, {reason}", flush=True)
        else:
            print(f"ok - {title}", flush=True)
    print("done", flush=True)
