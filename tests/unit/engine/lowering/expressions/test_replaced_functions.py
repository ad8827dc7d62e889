"""A replaced SQL function is sent to workers by its code: they may have the old version of its module."""

import base64
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from duolog.engine.lowering.expressions.python_functions import collecting
from duolog.ksql.session import SqlSession
from duolog.ksql.udf.modules import add_directories
from duolog.plan.expressions import PythonCall, walk
from duolog.plan.expressions.python_functions import PythonFunction
from duolog.plan.nodes import Project

SOURCE = "from duolog import udf\n\n@udf\ndef price(a: int) -> int:\n    return a * {}\n"
STREAM = "CREATE STREAM s (k STRING KEY, a BIGINT) WITH (kafka_topic='s', value_format='JSON', partitions=1);"
CREATED = """
CREATE FUNCTION price FROM 'kiosk:price';
STREAM
CREATE STREAM x AS SELECT k, price(a) AS b FROM s;
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    add_directories(tmp_path)
    path = tmp_path / "kiosk.py"
    path.write_text(SOURCE.format(2))
    yield path
    sys.modules.pop("kiosk", None)


def sent(session: SqlSession) -> PythonFunction:
    """Return what a worker gets of the query's function, which has imported the module before it was replaced."""
    plan = session.state.queries["CSAS_X_0"].planned.plan
    (node,) = [one for one in plan.nodes if isinstance(one, Project) and "B" in one.schema.names]
    calls = [part for _, of in node.values for part in walk(of) if isinstance(part, PythonCall)]
    with collecting("x") as found:
        found.name_of(calls[0].function)
    (body,) = found.spec()["functions"]

    before = sys.modules["kiosk"]
    sys.modules["kiosk"] = old = ModuleType("kiosk")
    try:
        exec(SOURCE.format(2), old.__dict__)  # noqa: S102 - it is ours
        worker: PythonFunction = pickle.loads(base64.b64decode(body["body"]))  # noqa: S301 - ours
    finally:
        sys.modules["kiosk"] = before
    return worker


def test_a_plan_calls_the_replacement_of_its_function(module: Path) -> None:
    session = SqlSession()
    list(session.run(CREATED.replace("STREAM\n", STREAM)))
    module.write_text(SOURCE.format(3000))

    list(session.run("CREATE OR REPLACE FUNCTION price FROM 'kiosk:price';"))

    assert sent(session).function(2) == 6000
