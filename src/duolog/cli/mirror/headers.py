"""Read the headers of a record, whose names the client returns as text.

If a name is not UTF-8, the client returns a list with an invalid item and sets an exception.
CPython checks for this, but not in a call that it has specialized because it was repeated: that
returns the list, whose use ends the process. `methodcaller` makes a call that always checks.
"""

from operator import methodcaller
from typing import Final, cast

from confluent_kafka import Message

from duolog.cli.errors import MirrorIncomplete
from duolog.cli.mirror.checksum import Headers

_HEADERS: Final = methodcaller("headers")


def read_headers(message: Message) -> Headers:
    """Return names and contents.

    Raises:
        MirrorIncomplete: a name is not UTF-8, which the client can neither read nor write.
    """
    try:
        return cast("Headers", _HEADERS(message) or [])
    except (SystemError, UnicodeDecodeError) as error:
        raise MirrorIncomplete(
            f"the record at offset {message.offset()} of partition {message.partition()} of topic "
            f'"{message.topic()}" has a header whose name is not UTF-8',
            detail="Kafka's protocol requires UTF-8, so the record cannot be copied.",
            hint="To copy the other topics, leave this one out with --topics.",
        ) from error
