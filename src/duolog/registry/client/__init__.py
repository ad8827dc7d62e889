"""A client of a schema registry over HTTP.

source.py     `HttpRegistry`, a source of schemas for serdes and SQL; start here
admin.py      `RegistryAdmin`, for tools: lists, deletions, settings
answers.py    the fields of answers
subjects.py   `HttpSubjects`, for the broker's check of schema ids
requests.py   requests to one of several addresses, with retries
"""

from duolog.registry.client.source import HttpRegistry

__all__ = ["HttpRegistry"]
