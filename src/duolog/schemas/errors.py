"""The error of a schema that cannot be parsed."""

from duolog.core.errors import RegistryError


class InvalidSchemaError(RegistryError):
    """A text that is not a schema of its language, or refers to what is not there."""
