"""Figures in the answers of SHOW QUERIES EXTENDED and DESCRIBE … EXTENDED of a shell."""

from pathlib import Path

from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.engine import SqlEngine
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fake_queries import FakeStarter

WAIT_S = 60.0


def tables(engine: SqlEngine, text: str) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of the answers by title."""
    return {
        answer.title: list(answer) for answer in engine.execute(text) if isinstance(answer, Rows)
    }


def test_extended_answers_have_figures(
    cluster: EmbeddedCluster, service: str, tmp_path: Path
) -> None:
    engine = SqlEngine(
        cluster.bootstrap_servers, data=tmp_path, service_id=service, starter=FakeStarter()
    )
    list(
        engine.execute(
            f"CREATE STREAM s (a INT) WITH (kafka_topic='{service}s', partitions=1, value_format='json');"
            f"CREATE STREAM t WITH (kafka_topic='{service}t') AS SELECT * FROM s;"
            f"CREATE STREAM alone (a INT) WITH (kafka_topic='{service}s', value_format='json');"
        )
    )
    assert engine.wait_settled(WAIT_S)

    shown = tables(engine, "SHOW QUERIES EXTENDED;")
    (row,) = shown["Figures"]

    # The fake query reports 3 unread records.
    assert (row[0], row[3]) == ("CSAS_T_0", 3)
    assert "Figures" not in tables(engine, "SHOW QUERIES;")
    for name in ("s", "t"):
        ((query_id, *_),) = tables(engine, f"DESCRIBE {name} EXTENDED;")["Figures"]
        assert query_id == "CSAS_T_0"
    assert "Figures" not in tables(engine, "DESCRIBE alone EXTENDED;")
    assert "Figures" not in tables(engine, "DESCRIBE s;")
    engine.close()
