"""Results that leave when their windows close: Kafka Streams judges their order and their moment.

Kafka Streams lets them go once in a second at most; the judge lets them go with the record that closes
the window, as Duolog does.
"""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from conformance.streams.judge import KafkaStreams
from conformance.streams.judged_cases import MODES, ON_CLOSE, SOME, Define, Mode, plan_of
from conformance.streams.test_kafka_streams import Court

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def court(spark: SparkSession, kafka_streams: KafkaStreams) -> Iterator[Court]:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield Court(spark, kafka_streams)
    spark.conf.unset("spark.sql.codegen.factoryMode")


@pytest.mark.parametrize("mode", [*MODES, "late"])
@pytest.mark.parametrize("define", ON_CLOSE, ids=lambda define: define.__name__)
def test_kafka_streams_lets_the_same_results_go(court: Court, define: Define, mode: Mode) -> None:
    court.ensure_same(plan_of(define), SOME * 3, mode, tasks=1)
