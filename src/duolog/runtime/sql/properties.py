"""Read the properties that a service is given when it starts."""

from collections.abc import Mapping

from duolog.ksql.errors import SqlError
from duolog.ksql.settings import Settings


def with_properties(of_session: Settings, given: Mapping[str, str]) -> Settings:
    """Set properties, and return the settings.

    Raises:
        SqlError: a property is unknown, or its value is not allowed.
    """
    for name, value in given.items():
        of_session.set(name, value)
    return of_session


def seconds(given: Mapping[str, str], name: str, otherwise: float) -> float:
    """Return a property in milliseconds as seconds; `otherwise` if it is not given.

    Raises:
        SqlError: it is not a whole number.
    """
    value = given.get(name)
    try:
        return otherwise if value is None else int(value) / 1000
    except ValueError:
        raise SqlError(
            f"Invalid value {value} for configuration {name}: Not a number of type LONG"
        ) from None
