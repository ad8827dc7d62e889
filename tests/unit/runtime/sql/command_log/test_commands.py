import json
from dataclasses import replace

import pytest

from duolog.runtime.sql.command_log.commands import FIRST, Command, decode, encode
from duolog.runtime.sql.errors import CommandDamaged

COMMAND = Command("CREATE …;", 4, {"auto.offset.reset": "latest"}, 3, "CSAS_LATE_3", {"t": {0: 8}})


def test_a_command_is_read_as_it_was_written() -> None:
    assert decode(encode(COMMAND), "c", 5) == COMMAND
    assert decode(encode(Command("DROP STREAM S;", FIRST)), "c", 0).after == FIRST


def test_a_command_keeps_what_it_found_in_the_schema_registry() -> None:
    kept = [{"id": 7, "text": "{}", "columns": [["A", ["ARRAY", "INT"], "VALUE"]]}]
    command = replace(COMMAND, schemas=kept)

    assert decode(encode(command), "c", 5) == command
    assert b"schemas" not in encode(replace(COMMAND, schemas=[]))


@pytest.mark.parametrize(
    "data", [None, b"", b"{", b"[]", b"{}", encode(COMMAND).replace(b"CREATE", b"CREATF")]
)
def test_an_altered_record_is_refused_with_its_offset(
    data: bytes | None,
) -> None:
    with pytest.raises(CommandDamaged, match="offset 5") as refused:
        decode(data, "commands", 5)

    assert refused.value.offset == 5


def test_a_command_of_a_newer_duolog_is_refused() -> None:
    newer = json.dumps(json.loads(encode(COMMAND)) | {"version": 2}).encode()

    with pytest.raises(CommandDamaged) as refused:
        decode(newer, "commands", 5)

    assert "Its version is 2" in refused.value.detail
