"""JSON objects of files, topics and the kernel, whose fields have any type."""

from typing import Any

Json = dict[str, Any]
