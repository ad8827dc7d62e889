"""`duolog completion`: print a shell script that completes commands, options and topic names."""

from typing import Final

import click
from click.shell_completion import get_completion_class

SHELLS: Final = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a shell script that completes commands, options and topic names.

    \b
    Examples:
      eval "$(duolog completion bash)"                    # in ~/.bashrc
      eval "$(duolog completion zsh)"                     # in ~/.zshrc
      duolog completion fish > ~/.config/fish/completions/duolog.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = context.find_root().command
    click.echo(kind(root, {}, "duolog", "_DUOLOG_COMPLETE").source())
