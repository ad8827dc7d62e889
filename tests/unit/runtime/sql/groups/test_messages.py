import json
from pathlib import Path

from duolog.core.errors import QueryError
from duolog.engine.query.reports.progress import Progress, Skipped
from duolog.runtime.sql.groups.messages import (
    Setup,
    decode_error,
    decode_progress,
    encode_error,
    encode_progress,
)
from duolog.runtime.sql.persistent.spark_queries import SparkQuerySettings
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity, TokenEndpoint


def through_json(message: dict[str, object]) -> dict[str, object]:
    return dict(json.loads(json.dumps(message)))


def test_a_setup_arrives_with_its_secrets() -> None:
    queries = SparkQuerySettings(
        data=Path("/data"), settings={"tasks": "2"}, log_rows=True, log_name="engine-heavy.log"
    )
    token = TokenEndpoint("https://id", "me", "geheim")
    for security in (
        None,
        ClientSecurity("SASL_SSL", "SCRAM-SHA-512", "ann", "geheim", authorities="PEM"),
        ClientSecurity("SASL_SSL", "OAUTHBEARER", token=token),
    ):
        setup = Setup(
            "heavy",
            "flights",
            Brokers("a:1,b:2", security, (("client.id", "x"),)),
            queries,
            "http://registry",
            {"http://registry": "ann:geheim"},
            ("/modules",),
            5,
        )

        assert Setup.decode(through_json(setup.encode())) == setup


def test_an_error_arrives_with_detail_and_hint() -> None:
    error = decode_error(
        through_json(encode_error(QueryError("it failed", detail="There.", hint="Mend it.")))
    )

    assert (error.message, error.detail, error.hint) == ("it failed", "There.", "Mend it.")
    assert decode_error(encode_error(ValueError())).message == "ValueError"


def test_progress_arrives_whole() -> None:
    progress = Progress(
        "micro-batch",
        "running",
        3,
        10,
        9,
        {"processing": 1},
        (Skipped("processing", "overflow", "SUM", 1, "t", 0, 4, "k", "v"),),
        {"window": 2},
        lag_records={"t": 5},
        state_rows=7,
    )

    assert decode_progress(through_json(encode_progress(progress))) == progress
