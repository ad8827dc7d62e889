"""Requests of the kernel to a schema registry: what it asks, keeps, repeats and gives up."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from duolog.engine.kernel_classes import kernel_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PATIENCE: Final = "duolog.schema.registry.patience.ms"
USERS: Final = "duolog.schema.registry.passwords"
RECORD: Final = b"\0\0\0\0\1\2"


class Registry(ThreadingHTTPServer):
    """A registry with the schema `"int"` of id 1, which fails a given number of times."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str | None]] = []
        self.failures = 0
        self.refuses = False
        self.is_one = True
        self.address = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        if not self.server.is_one:
            self.answer(404, {"detail": "Not Found"})
        elif self.server.refuses:
            self.answer(401, {"error_code": 401, "message": "Unauthorized"})
        elif self.server.failures:
            self.server.failures -= 1
            self.answer(503, {})
        elif self.path.startswith("/schemas/ids/1?"):
            self.answer(200, {"schema": '"int"'})
        else:
            self.answer(404, {"error_code": 40403, "message": "Schema not found"})

    def answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Write no log."""


@pytest.fixture
def registry(spark: "SparkSession") -> Iterator[Registry]:
    kernel_class(spark._jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001
    with Registry() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def impatient(spark: "SparkSession") -> Iterator[None]:
    system: Any = spark._jvm.java.lang.System  # type: ignore[union-attr]  # noqa: SLF001
    system.setProperty(PATIENCE, "0")
    yield
    system.clearProperty(PATIENCE)


def read(spark: "SparkSession", address: str, *data: bytes, tries: bool = True) -> list[Any]:
    """Return the numbers in records; None for a bad record if `tries`."""
    options = json.dumps({"registry": address, "single": "bare"})
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize([(bytearray(one),) for one in data], 1), "b BINARY"
    )
    call = f"duolog_avro_read(b, 'n INT', '{options}')"
    found = frame.selectExpr(f"{f'duolog_try({call})' if tries else call} AS r").collect()
    return [None if row.r is None else row.r.n for row in found]


def test_a_schema_is_asked_once(spark: "SparkSession", registry: Registry) -> None:
    assert read(spark, registry.address, RECORD, RECORD) == [1, 1]
    assert read(spark, registry.address, RECORD) == [1]

    assert registry.asked == [("/schemas/ids/1?format=resolved", None)]


def test_a_registry_that_is_gone_stops_nothing_that_runs(
    spark: "SparkSession", registry: Registry
) -> None:
    assert read(spark, registry.address, RECORD) == [1]
    registry.failures = 10**9

    assert read(spark, registry.address, RECORD, tries=False) == [1]


def test_an_unknown_id_is_a_bad_record_and_asked_once(
    spark: "SparkSession", registry: Registry
) -> None:
    unknown = b"\0\0\0\0\2\2"

    assert read(spark, registry.address, unknown, RECORD, unknown) == [None, 1, None]

    assert len(registry.asked) == 2
    with pytest.raises((Py4JJavaError, PySparkException), match="has no schema of id 2"):
        read(spark, registry.address, unknown, tries=False)


def test_a_registry_that_does_not_answer_is_asked_again(
    spark: "SparkSession", registry: Registry
) -> None:
    registry.failures = 2

    assert read(spark, registry.address, RECORD, tries=False) == [1]
    assert len(registry.asked) == 3


@pytest.mark.usefixtures("impatient")
def test_the_query_fails_if_the_registry_stays_away(
    spark: "SparkSession", registry: Registry
) -> None:
    registry.failures = 1

    with pytest.raises(
        (Py4JJavaError, PySparkException), match=r"does not answer.*HTTP status 503"
    ):
        read(spark, registry.address, RECORD, tries=False)


def test_a_registry_that_refuses_fails_the_query(spark: "SparkSession", registry: Registry) -> None:
    registry.refuses = True

    refused = "refuses the user of the query: HTTP status 401, Unauthorized"
    with pytest.raises((Py4JJavaError, PySparkException), match=refused):
        read(spark, registry.address, RECORD, tries=False)
    assert len(registry.asked) == 1, "asking again does not help"
    registry.refuses = False
    assert read(spark, registry.address, RECORD, tries=False) == [1], "it does not count as away"


def test_an_address_that_is_no_registry_makes_no_record_a_bad_one(
    spark: "SparkSession", registry: Registry
) -> None:
    registry.is_one = False

    with pytest.raises((Py4JJavaError, PySparkException), match="HTTP status 404"):
        read(spark, registry.address, RECORD, tries=False)


def test_an_invalid_host_makes_no_record_a_bad_one(spark: "SparkSession") -> None:
    """Java's client refuses underscores, which names of containers often have."""
    with pytest.raises((Py4JJavaError, PySparkException), match="no valid name of a host"):
        read(spark, "http://schema_registry:8081", RECORD, tries=False)


def test_the_next_address_is_asked(spark: "SparkSession", registry: Registry) -> None:
    with Registry() as other:
        gone = other.address

    assert read(spark, f"{gone}, {registry.address}/", RECORD, tries=False) == [1]


def test_a_user_is_sent_and_not_part_of_the_address(
    spark: "SparkSession", registry: Registry
) -> None:
    users = kernel_class(spark._jvm, "RegistryUsers")  # noqa: SLF001
    given = json.dumps({f"{registry.address}/": "me:p:w"})
    users.tell(spark._jsparkSession, given)  # noqa: SLF001
    try:
        assert spark.sparkContext.getLocalProperty(USERS) == given
        assert read(spark, registry.address, RECORD) == [1]
    finally:
        users.forget(spark._jsparkSession)  # noqa: SLF001
    assert spark.sparkContext.getLocalProperty(USERS) is None
    assert read(spark, registry.address, b"\0\0\0\0\2\2") == [None]

    (_, authorization), (_, forgotten) = registry.asked
    assert authorization == f"Basic {base64.b64encode(b'me:p:w').decode()}"
    assert forgotten is None
