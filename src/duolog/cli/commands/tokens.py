"""`duolog tokens`: tokens by which programs log in instead of a password."""

import secrets
import time
from datetime import UTC, datetime
from typing import Final

import click

from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.security_topic import append, read_state
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.cli.text.times import read_duration
from duolog.core.errors import KafkaError
from duolog.core.units import SECOND_MS
from duolog.security.credentials.tokens import SECRET_BYTES, Token, digest_of, new_token
from duolog.security.identity.principal import USER, Principal
from duolog.security.records.records import TokenChange

LIST_COLUMNS: Final = (
    Column("id", "string", "id of the token, which is not secret"),
    Column("principal", "string", "principal that the token logs in"),
    Column("created_at", "string", "time of creation, in UTC"),
    Column("expires_at", "string | null", "time of expiry, in UTC; null: does not expire"),
    Column("description", "string", "text given at its creation"),
)
_NOT_FOUND: Final = 91


@click.group()
def tokens() -> None:
    """Manage tokens, which log in by OAUTHBEARER and as HTTP bearer tokens.

    \b
    Examples:
      duolog tokens create alice --expires 30d --description laptop
      duolog tokens list
      duolog tokens revoke 0f1e2d3c4b5a6978
    """


@tokens.command()
@click.argument("user")
@click.option("--expires", metavar="DURATION", help="Time after which it expires, such as 30d.")
@click.option("--description", default="", help="Text for the list of tokens.")
@cluster_options
def create(*, user: str, expires: str | None, description: str, cluster: Cluster) -> None:
    """Create a token for a user, and print it.

    The token is printed only now: the cluster stores its SHA-256.
    """
    now_ms = time.time_ns() // 1_000_000
    expires_at_ms = None if expires is None else now_ms + _lifetime_ms(expires)
    text = new_token(secrets.token_bytes(SECRET_BYTES))
    token = Token(digest_of(text), Principal(USER, user), now_ms, expires_at_ms, description)
    append(cluster, [TokenChange(token.token_id, token)])
    click.echo(f'created token {token.token_id} of user "{user}"', err=True)
    click.echo(text)


def _utc(time_ms: int) -> str:
    at = datetime.fromtimestamp(time_ms // SECOND_MS, UTC)
    return at.isoformat().replace("+00:00", "Z")


def _lifetime_ms(expires: str) -> int:
    try:
        lifetime_ms = read_duration(expires)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if lifetime_ms <= 0:
        raise click.UsageError(f'a token of duration "{expires}" would be expired at once')
    return lifetime_ms


@tokens.command("list")
@output.output_option
@cluster_options
def list_tokens(*, form: str, cluster: Cluster) -> None:
    """List tokens; their texts are not stored."""
    if form == "help":
        return click.echo(output.help_text(LIST_COLUMNS), nl=False)
    rows = [
        {
            "id": token_id,
            "principal": str(token.principal),
            "created_at": _utc(token.created_at_ms),
            "expires_at": None if token.expires_at_ms is None else _utc(token.expires_at_ms),
            "description": token.description,
        }
        for token_id, token in sorted(read_state(cluster).tokens.items())
    ]
    return output.write_rows(rows, LIST_COLUMNS, form)


@tokens.command()
@click.argument("token_ids", nargs=-1, required=True, metavar="ID…")
@cluster_options
def revoke(*, token_ids: tuple[str, ...], cluster: Cluster) -> None:
    """Revoke tokens: clients can no longer log in with them."""
    known = read_state(cluster).tokens
    for token_id in token_ids:
        if token_id not in known:
            raise KafkaError(
                f'token "{token_id}" does not exist',
                code=_NOT_FOUND,
                hint="List the tokens with `duolog tokens list`.",
            )
    append(cluster, [TokenChange(token_id, None) for token_id in token_ids])
    for token_id in token_ids:
        click.echo(f"revoked token {token_id}", err=True)
