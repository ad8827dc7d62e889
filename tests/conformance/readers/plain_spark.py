"""Read a topic with Spark as a program that knows nothing of Duolog; print each value as JSON.

    plain_spark.py SERVERS TOPIC JARS avro SCHEMA_FILE
    plain_spark.py SERVERS TOPIC JARS protobuf DESCRIPTORS_FILE MESSAGE

Avro: Spark's own `from_avro`, after the five bytes of the schema's id. Protobuf: Google's classes
in a Python function, because Maven does not serve Spark's `from_protobuf` for Scala 2.13.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import Column, SparkSession
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import expr, to_json, udf

from conformance.readers.protobuf_values import fields_of


def of_avro(schema: str) -> Column:
    given = {"mode": "FAILFAST"}
    return to_json(from_avro(expr("substring(value, 6)"), Path(schema).read_text(), given))


def of_protobuf(descriptors: str, message: str) -> Column:
    data = Path(descriptors).read_bytes()

    def decoded(value: bytearray) -> str:
        return json.dumps(fields_of(data, message, bytes(value)))

    return udf(decoded)("value")


def main() -> None:
    servers, topic, jars, kind, *given = sys.argv[1:]
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    read = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    text = of_avro(*given) if kind == "avro" else of_protobuf(*given)
    for row in read.orderBy("offset").select(text.alias("text")).collect():
        sys.stdout.write(f"{row.text}\n")
    spark.stop()


if __name__ == "__main__":
    main()
