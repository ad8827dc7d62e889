"""Rows as bytes of Protobuf: a message with a field per column, in their order.

Nulls are absent fields, as in ksqlDB; they look like the default value of their type.

Source: ksqlDB's own tests of pull queries in Protobuf.
"""

import base64
from collections.abc import Sequence

from duolog.core.errors import DuologError
from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.script import type_written
from duolog.plan.types import Column
from duolog.schemas.protobuf import parse
from duolog.schemas.protobuf.columns import schema_text
from duolog.serde.protobuf import PlainProtobufSerde


class ProtobufRows:
    """Encodes the rows of one query.

    Args:
        columns: names with types in SQL.

    Raises:
        SqlError: Protobuf has no such type, or two columns have one name.
    """

    def __init__(self, columns: Sequence[tuple[str, str]]) -> None:
        typed = tuple(Column(name, type_written(of)) for name, of in columns)
        try:
            self.schema: str = parse(schema_text(typed), {}).canonical
            """The schema of the message."""
            self._serde = PlainProtobufSerde(typed)
        except DuologError as error:
            raise SqlError(
                "the columns of the query cannot be written in Protobuf",
                detail=error.message,
                hint="Read the query as JSON.",
            ) from error

    def encoded(self, row: Sequence[object]) -> str:
        """Return the message of a row in base64."""
        data = self._serde.serialize(tuple(row))
        assert data is not None, "a row has a message, even if all its values are null"
        return base64.b64encode(data).decode()
