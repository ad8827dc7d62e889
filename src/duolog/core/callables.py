"""The type of functions that users write."""

from collections.abc import Callable
from typing import Any

AnyFunction = Callable[..., Any]
"""A user's function: its arguments are converted, and its result is checked at run time."""
