"""The interface that the schema languages share."""

import pytest

from duolog.schemas.schema import Incompatibility, Language


@pytest.mark.parametrize(
    ("language", "message"),
    [
        (
            Language.AVRO,
            "{errorType:'KIND', description:'The new schema lacks {a}, not the old schema', additionalInfo:'more'}",
        ),
        (
            Language.JSON,
            '{errorType:"KIND", description:"The new schema lacks {a}, not the old schema\'}',
        ),
        (
            Language.PROTOBUF,
            '{errorType:"KIND", description:"The new schema lacks {a}, not the old schema"}',
        ),
    ],
)
def test_a_message_names_the_two_schemas_in_the_form_of_the_language(
    language: Language, message: str
) -> None:
    description = "The {reader} schema lacks {a}, not the {writer} schema"
    incompatibility = Incompatibility("KIND", description, "more")

    assert incompatibility.message(language, reader="new", writer="old") == message
