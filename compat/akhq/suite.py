"""The requests of AKHQ's pages of ksqlDB, which Confluent's Java client sends over HTTP/2.

That client is not on Maven Central, so that AKHQ cannot be built here. The requests and what is
read of each answer are those that its pages need: see `KsqlDbRepository` in AKHQ's source, and the
documentation of the Java client.
"""

from pathlib import Path

from lib.conversation import Conversation

SUITE = Conversation("AKHQ 0.25 (its requests)", Path(__file__).parent)
