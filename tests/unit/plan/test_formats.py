import pytest

from duolog.core.errors import StatementError
from duolog.engine.lowering.formats.formats import decode, encode, or_nulls_only
from duolog.ksql.catalog.catalog import Registered, SqlFormat
from duolog.ksql.catalog.formats import plan_format
from duolog.ksql.errors import SqlError
from duolog.plan.formats import JSON, Format
from duolog.plan.types import parse_columns

ONE, TWO = parse_columns("A INT"), parse_columns("A INT, B STRING")


def test_an_unknown_option_of_a_format_is_refused() -> None:
    with pytest.raises(StatementError, match="option"):
        Format("KAFKA", (("delimiter", ";"),))
    with pytest.raises(StatementError, match="not one character"):
        Format("DELIMITED", (("delimiter", "<>"),))


def test_delimited_supports_only_simple_types() -> None:
    Format("DELIMITED").check(TWO, "value")

    with pytest.raises(StatementError, match="DELIMITED cannot carry the value"):
        Format("DELIMITED").check(parse_columns("A ARRAY<INT>"), "value")


def test_sql_formats_are_those_of_ksqldb() -> None:
    assert plan_format(SqlFormat("JSON")) == Format("JSON", (("dialect", "ksqldb"),))
    assert str(plan_format(SqlFormat("JSON", wrap=False))) == "JSON(dialect=ksqldb, single=bare)"
    assert plan_format(SqlFormat("DELIMITED", (("delimiter", "\t"),))).option("delimiter") == "\t"
    assert plan_format(SqlFormat("KAFKA")) == Format("KAFKA")


@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_a_schema_registry_format_is_refused_without_a_registry(name: str) -> None:
    with pytest.raises(SqlError, match=f"the {name} format needs a schema registry"):
        plan_format(SqlFormat(name))


def test_a_schema_registry_format_names_the_registry_and_the_schema_to_write() -> None:
    written = Registered("mock://a", 7, '"string"')
    read = Registered("mock://a")

    assert plan_format(SqlFormat("AVRO", wrap=False, registered=written)).options == (
        ("id", "7"),
        ("registry", "mock://a"),
        ("schema", '"string"'),
        ("single", "bare"),
    )
    assert str(plan_format(SqlFormat("JSON_SR", registered=read))) == "JSON_SR(registry=mock://a)"
    named = SqlFormat("PROTOBUF", (("fullSchemaName", "a.B"),), registered=read)
    assert plan_format(named).option("message") == "a.B"
    assert str(plan_format(SqlFormat("PROTOBUF_NOSR"))) == "PROTOBUF_NOSR"
    wrapped = SqlFormat("PROTOBUF_NOSR", (("nullableRepresentation", "WRAPPER"),))
    assert plan_format(wrapped).option("nullable") == "wrapper"


def test_a_single_column_is_unwrapped_in_keys_and_unwrapped_values() -> None:
    ksql, bare = plan_format(SqlFormat("JSON")), plan_format(SqlFormat("JSON", wrap=False))

    assert decode(ksql, ONE, "key", first=0).parsed == [
        "duolog_ksql_json_read_alone(key, '`A` INT')"
    ]
    assert decode(ksql, ONE, "value", first=2).columns == ["p2.`A`"]
    assert encode(ksql, ONE, ["v0"], "value") == "duolog_ksql_json_write(struct(v0), '`A` INT')"
    assert "write_alone" in encode(bare, ONE, ["v0"], "value")
    assert "write_alone" not in encode(bare, TWO, ["v0", "v1"], "value")


def test_a_key_of_several_nulls_is_a_key_only_in_ksqldb_formats() -> None:
    columns = ["p0.`A`", "p0.`B`"]

    assert or_nulls_only(plan_format(SqlFormat("JSON")), "x", columns) == "x"
    assert or_nulls_only(Format("DELIMITED"), "x", columns) == "x"
    assert "p0.`B` IS NULL" in or_nulls_only(JSON, "x", columns)
