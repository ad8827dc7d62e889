"""Format JSON: an object of columns, without spaces, including nulls; or one bare value.

    BOOLEAN true          DECIMAL   1.50                 TIMESTAMP "2013-01-01T10:00:00.123Z"
    INT     15            BYTES     base64               ARRAY     [...]
    DOUBLE  15.0, 1.0E7   DATE      "2013-01-01"         MAP       {...}, keys as texts
    STRING  "SFO"         STRUCT    {...}

Output is byte for byte that of the engine, which is that of Spark's Jackson, except for
microseconds: a TIMESTAMP with microseconds is written with all six digits. When reading, fields may
be in any order, missing fields are null, and unknown fields and text after the object are ignored;
only white space may surround a null or a bare value. A value of another type is an error, with
these exceptions: integers are DOUBLEs, texts that contain a number are DECIMALs, a TIMESTAMP may be
a number of milliseconds, and a STRING accepts the text of any value. If a name occurs twice, the
last value counts.

`json_writing` and `json_reading` hold the forms of the types. Limits of depth and length are in
`json_reading`.

Source: Spark `JacksonGenerator`; ksqlDB for timestamps in milliseconds.
"""

from collections.abc import Callable, Mapping
from decimal import DecimalException

from duolog.core.errors import SerdeError
from duolog.core.types import Column, Type
from duolog.serde.json_reading import Reader, parse, reader_of, too_deep
from duolog.serde.json_writing import Writer, text_of, writer_of
from duolog.serde.row import Row


class JsonObjects:
    """Reads and writes rows as JSON objects, or one column as a bare value.

    Subclasses define the form of values.

    Args:
        columns: the columns of a row.
        bare: the single column is written without an object.
        writer: returns the function that writes a type as text.
        reader: returns the function that reads a type from a parsed value.
    """

    def __init__(
        self,
        columns: tuple[Column, ...],
        writer: Callable[[Type], Writer],
        reader: Callable[[Type], Reader],
        *,
        bare: bool,
    ) -> None:
        assert not bare or len(columns) == 1, columns
        self._columns = columns
        self._bare = bare
        self._writers = [(text_of(column.name), writer(column.type)) for column in columns]
        self._readers = [(column, reader(column.type)) for column in columns]

    def serialize(self, row: Row | None) -> bytes | None:
        if row is None or (self._bare and row[0] is None):
            return None
        try:
            if self._bare:
                return self._encoded(self._writers[0][1](row[0]))
            fields = [
                f"{name}:{write(value)}"
                for (name, write), value in zip(self._writers, row, strict=True)
            ]
            return self._encoded(f"{{{','.join(fields)}}}")
        except (TypeError, ValueError, AttributeError, DecimalException) as error:
            raise SerdeError("cannot write a row as JSON", detail=f"{row!r}: {error}.") from error

    def deserialize(self, data: bytes | None) -> Row | None:
        if data is None:
            return None
        found, alone = parse(data)
        if not alone and (found is None or self._bare):
            raise SerdeError(
                "there is text after the JSON", detail=f"It starts with {data[:40]!r}."
            )
        if found is None:
            return None
        if self._bare:
            return (self._read(*self._readers[0], found),)
        if not isinstance(found, dict):
            raise SerdeError("the JSON is not an object", detail=f"It starts with {data[:40]!r}.")
        fields = self._fields(found)
        return tuple(
            self._read(column, read, fields.get(column.name)) for column, read in self._readers
        )

    def _read(self, column: Column, read: Reader, value: object) -> object:
        try:
            return read(value)
        except RecursionError as error:
            raise too_deep(f'column "{column.name}"') from error
        except (TypeError, ValueError, OverflowError, DecimalException) as error:
            raise SerdeError(
                f'cannot read column "{column.name}" from JSON',
                detail=f"{value!r} is not a valid {column.type}.",
            ) from error

    def _encoded(self, text: str) -> bytes:
        return text.encode()

    def _fields(self, found: Mapping[str, object]) -> Mapping[str, object]:
        """Return the fields of an object by column name."""
        return found


class JsonSerde(JsonObjects):
    """Reads and writes rows as JSON objects, or one column as a bare value."""

    def __init__(self, columns: tuple[Column, ...], *, bare: bool = False) -> None:
        assert columns, "a JSON object of no columns says nothing"
        super().__init__(columns, writer_of, reader_of, bare=bare)
