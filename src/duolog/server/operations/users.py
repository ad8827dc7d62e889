"""Users of the cluster: list, add, change passwords, remove; secrets are never answered.

    GET     /v1/users?search=…&offset=…&limit=…      DESCRIBE on the cluster
    POST    /v1/users            {"user": …, "password": …}        ALTER on the cluster
    POST    /v1/users/password   {"user": …, "password": …}        ALTER on the cluster
    DELETE  /v1/users?user=…&force=true              ALTER on the cluster

A name may have any character, so that it is not a part of the path. A removed user keeps its rules
and roles; the last administrator is removed with `force` only.

Source: KIP-554; Kafka `ControllerApis.handleAlterUserScramCredentials`.
"""

from typing import TYPE_CHECKING, Any, Final

from duolog.core.errors import KafkaError
from duolog.runtime.administration.users import DUPLICATE, is_last_administrator
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.server.administration.requests import (
    ensure_known,
    flag_of,
    read_object,
    read_page,
    text_in,
)
from duolog.server.administration.shown import user_json
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.administrators import administration_of, note_change, run
from duolog.server.operations.context import ServerContext

if TYPE_CHECKING:
    from duolog.runtime.administration.administration import Administration
    from duolog.security.state.security_state import SecurityState

_MEMBERS: Final = ("user", "password")


async def users(request: Request, context: ServerContext) -> Response:
    """Answer with users, their mechanisms and roles."""
    cluster = administration_of(context, secret=True)
    page = read_page(request.query)

    def found() -> dict[str, Any]:
        known, state = cluster.users.described(), _state(cluster, context)
        names, total = page.of(sorted(known), str)
        return {
            "users": [user_json(name, known[name], state) for name in names],
            "total": total,
            "hasRules": context.access.sessions is not None,
        }

    answer = await run(context, found)
    may = request.client.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
    return json_response({**answer, "mayChange": may}, media_type=JSON)


async def add_user(request: Request, context: ServerContext) -> Response:
    """Add a user."""
    cluster = administration_of(context, secret=True)
    user, password = _login(request)
    await run(context, lambda: cluster.users.add(user, password))
    note_change(request, "add user", user)
    return json_response({"user": user}, status=201, media_type=JSON)


async def change_password(request: Request, context: ServerContext) -> Response:
    """Change the password of a user; its sessions end."""
    cluster = administration_of(context, secret=True)
    user, password = _login(request)
    await run(context, lambda: cluster.users.change_password(user, password))
    note_change(request, "change password", user)
    return json_response({"user": user}, media_type=JSON)


async def remove_user(request: Request, context: ServerContext) -> Response:
    """Remove a user."""
    cluster = administration_of(context, secret=True)
    ensure_known(request.query, {"user", "force"})
    user, force = text_in(request.query, "user"), flag_of(request.query, "force")

    def remove() -> None:
        if not force:
            _ensure_another_administrator(_state(cluster, context), user)
        cluster.users.remove(user)

    await run(context, remove)
    note_change(request, "remove user", user)
    return json_response({"user": user}, media_type=JSON)


def _login(request: Request) -> tuple[str, str]:
    given = read_object(request.body, _MEMBERS)
    return text_in(given, "user"), text_in(given, "password")


def _state(cluster: "Administration", context: ServerContext) -> "SecurityState | None":
    """Return users and roles; None in a server without users.

    Without an authorizer, a broker lets no client read its topic of users.
    """
    return None if context.access.sessions is None else cluster.state()


def _ensure_another_administrator(state: "SecurityState | None", user: str) -> None:
    if state is not None and is_last_administrator(state, user):
        raise KafkaError(
            f'user "{user}" is the last administrator with a password',
            code=DUPLICATE,
            hint="Make another user an administrator first. If there are others, such as super "
            "users, remove it by force.",
        )
