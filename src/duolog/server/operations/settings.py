"""Settings of brokers, topics and this server: value, default, documentation; changes.

    GET   /v1/settings                              kinds and brokers
    GET   /v1/settings?of=broker&name=ID            DESCRIBE_CONFIGS on the cluster; without a name
                                                    what is set for all brokers at run time
    GET   /v1/settings?of=topic&name=TOPIC          DESCRIBE_CONFIGS on the topic
    GET   /v1/settings?of=server                    a login; as SHOW PROPERTIES
    POST  /v1/settings   {"of": …, "name": …, "changes": {NAME: VALUE or null}}
                                                    ALTER_CONFIGS on the cluster or the topic

Lists have `?search=…&changed=true&offset=…&limit=…`. Values of secrets are never answered; null
sets a setting back.

Source: Kafka `ConfigHelper.describeConfigs`, `ControllerApis.authorizeAlterResource`.
"""

from typing import TYPE_CHECKING, Any, Final

from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.server.access.client import Right
from duolog.server.administration.requests import flag_of, read_object, read_page, text_in
from duolog.server.administration.shown import properties_json, setting_json
from duolog.server.errors import NOT_READY, RequestRefused
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.administrators import administration_of, note_change, run
from duolog.server.operations.context import ServerContext

if TYPE_CHECKING:
    from duolog.ksql.settings import Settings
    from duolog.runtime.administration.administration import Administration

BROKER, TOPIC, SERVER = "broker", "topic", "server"
CHANGES_MAX: Final = 100


async def settings(request: Request, context: ServerContext) -> Response:
    """Answer with the settings of one object, or with the brokers."""
    of = request.query.get("of", "")
    if of == SERVER:
        rows, may = _of_server(context), False
    elif of in (BROKER, TOPIC):
        cluster = administration_of(context, secret=False)
        name = _name(of, request.query.get("name", ""))
        request.client.ensure(_right(Operation.DESCRIBE_CONFIGS, of, name))
        rows = await run(context, lambda: _described(cluster, of, name))
        may = _may_change(request, context, of, name)
    else:
        return await _brokers(request, context)
    page = read_page(request.query, "of", "name", "changed")
    if flag_of(request.query, "changed"):
        rows = [row for row in rows if row["changed"]]
    shown, total = page.of(rows, lambda row: f"{row['name']} {row['documentation']}")
    answer = {"settings": shown, "total": total, "mayChange": may}
    return json_response(answer, media_type=JSON)


async def change_settings(request: Request, context: ServerContext) -> Response:
    """Change settings of a broker, of all brokers or of a topic."""
    cluster = administration_of(context, secret=True)
    given = read_object(request.body, ("of", "name", "changes"))
    of, changes = text_in(given, "of"), given.get("changes")
    if of not in (BROKER, TOPIC):
        raise RequestRefused("of must be broker or topic: others are given at the start")
    name = _name(of, text_in(given, "name", otherwise=""))
    request.client.ensure(_right(Operation.ALTER_CONFIGS, of, name))
    if not isinstance(changes, dict) or not 0 < len(changes) <= CHANGES_MAX:
        raise RequestRefused(f"changes must be an object with 1 to {CHANGES_MAX} settings")
    if not all(value is None or isinstance(value, str) for value in changes.values()):
        raise RequestRefused("Values of settings must be texts, or null to set one back")
    change = cluster.settings.change_topic if of == TOPIC else cluster.settings.change_broker
    await run(context, lambda: change(name, changes))
    # Without values: one may be a secret.
    note_change(request, f"change settings of {of}", f"{name}: {', '.join(sorted(changes))}")
    return json_response({"of": of, "name": name, "changed": sorted(changes)}, media_type=JSON)


async def _brokers(request: Request, context: ServerContext) -> Response:
    cluster = administration_of(context, secret=False)
    if request.query.get("of"):
        raise RequestRefused(f"of must be {BROKER}, {TOPIC} or {SERVER}")
    read_page(request.query, "of")
    may = request.client.may(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME)
    found = await run(context, cluster.settings.brokers) if may else []
    brokers = [{"id": str(one.id), "address": str(one.address)} for one in found]
    kinds = [*([BROKER] if may else []), TOPIC, SERVER]
    return json_response({"kinds": kinds, "brokers": brokers}, media_type=JSON)


def _of_server(context: ServerContext) -> list[dict[str, Any]]:
    if context.sql is None:
        raise RequestRefused("The server has no SQL service", NOT_READY)
    found: Settings = context.sql.session().state.settings
    return properties_json(found, found.of_server)


def _described(cluster: "Administration", of: str, name: str) -> list[dict[str, Any]]:
    read = cluster.settings.of_topic if of == TOPIC else cluster.settings.of_broker
    return list(map(setting_json, read(name)))


def _name(of: str, name: str) -> str:
    if of == TOPIC and not name:
        raise RequestRefused("name must be that of a topic")
    return name


def _may_change(request: Request, context: ServerContext, of: str, name: str) -> bool:
    """Return whether a change by the client would be tried."""
    try:
        administration_of(context, secret=True)
    except RequestRefused:
        return False
    return request.client.may(*_right(Operation.ALTER_CONFIGS, of, name))


def _right(operation: Operation, of: str, name: str) -> Right:
    if of == TOPIC:
        return Right(operation, ResourceType.TOPIC, name)
    return Right(operation, ResourceType.CLUSTER, CLUSTER_NAME)
