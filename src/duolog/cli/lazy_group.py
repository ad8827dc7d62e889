"""A command group that imports each command when it is called."""

from collections.abc import Mapping
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from duolog.cli.errors import OutputClosed
from duolog.cli.terminal.logging_setup import emits_json


class LazyGroup(click.Group):
    """Lists commands with their help lines without importing them.

    Args:
        commands_at: name → (`"module:attribute"`, one line of help).
    """

    def __init__(
        self, *args: object, commands_at: Mapping[str, tuple[str, str]], **options: object
    ) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]  # click checks what it is given
        self._commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._commands_at:
            return None
        module, attribute = self._commands_at[cmd_name][0].split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their help lines without importing them."""
        rows = [(name, self._commands_at[name][1]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete the name of a command without importing any."""
        commands = [
            CompletionItem(name, help=self._commands_at[name][1])
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown one suggests similar names."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(
                error.command_name, possibilities=self._commands_at, ctx=ctx
            ) from None

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # click would map it to exit status 1.
            raise OutputClosed from error
        except KeyboardInterrupt as error:
            # click would print an empty line, which is not a JSON object.
            if emits_json():
                raise click.Abort from error
            raise
