"""The requests of .NET's ksqlDB.RestApi.Client, and what its parsers read of the answers.

.NET is not installed here. The requests are those that its documentation and source describe:
HTTP/2 for `/query-stream`, HTTP/1.1 for `/query`, the media types of each, and lines that it tells
apart by their first characters.
"""

from pathlib import Path

from lib.conversation import Conversation

SUITE = Conversation(".NET ksqlDB.RestApi.Client 8.0 (its requests)", Path(__file__).parent)
