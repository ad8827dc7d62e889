"""Reconstruct the running command line, so that a hint can suggest it with other options."""

import shlex
from collections.abc import Collection, Iterator
from typing import Final

import click
from click.core import ParameterSource

_UNEXPOSED: Final = "duolog.unexposed"


def remember(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Store the value of an option with `expose_value=False`, for `command_again`."""
    context.meta.setdefault(_UNEXPOSED, {})[parameter.name] = value


def command_again(context: click.Context, *more: str, without: Collection[str] = ()) -> str:
    """Return the command line of `context` as typed, followed by `more`.

    Args:
        context: the running command.
        more: words to append.
        without: the names of parameters to leave out.
    """
    words = context.command_path.split()
    values = context.params | context.meta.get(_UNEXPOSED, {})
    arguments: list[str] = []
    options: list[str] = []
    for parameter in context.command.params:
        if parameter.name is None or parameter.name in without:
            continue
        if context.get_parameter_source(parameter.name) is not ParameterSource.COMMANDLINE:
            continue
        written = list(_written(parameter, values[parameter.name]))
        (arguments if isinstance(parameter, click.Argument) else options).extend(written)
    return shlex.join([*words, *arguments, *options, *more])


def _written(parameter: click.Parameter, value: object) -> Iterator[str]:
    """Yield the words of a parameter on the command line."""
    if isinstance(parameter, click.Argument):
        yield str(value)
        return
    assert isinstance(parameter, click.Option), parameter
    name = max(parameter.opts, key=len)
    if parameter.is_flag:
        yield name
        return
    values = value if parameter.multiple and isinstance(value, tuple) else (value,)
    for one in values:
        yield from (name, str(one))


def sentences(*commands: tuple[str, str]) -> str:
    """Return a hint that lists commands with their purposes.

    Example:
        >>> sentences(("Keep the state", "duolog run a.py --upgrade keep"))
        'Keep the state: `duolog run a.py --upgrade keep`.'
    """
    return " ".join(f"{purpose}: `{command}`." for purpose, command in commands)
