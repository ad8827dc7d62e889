"""Access control lists: list, add, remove.

    GET     /v1/acls?search=…&principal=…&offset=…&limit=…   DESCRIBE on the cluster
    POST    /v1/acls    rules to add                         ALTER on the cluster
    DELETE  /v1/acls    exactly the rules to remove          ALTER on the cluster

`server.administration.rules` has the form of rules in requests.

Source: KIP-140; Kafka `AclApis`.
"""

from typing import Any

from duolog.runtime.administration.rules import ShownRule
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.server.administration.requests import read_page
from duolog.server.administration.rules import read_rules
from duolog.server.administration.shown import rule_json
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.administrators import administration_of, note_change, run
from duolog.server.operations.context import ServerContext


async def acls(request: Request, context: ServerContext) -> Response:
    """Answer with rules; `enabled` is false if the cluster has no authorizer."""
    cluster = administration_of(context, secret=True)
    page = read_page(request.query, "principal")
    principal = request.query.get("principal", "")

    def found() -> dict[str, Any]:
        known = cluster.rules.described()
        wanted = [one for one in known or () if principal in ("", one.principal)]
        rules, total = page.of(wanted, _text)
        return {"enabled": known is not None, "rules": list(map(rule_json, rules)), "total": total}

    answer = await run(context, found)
    may = request.client.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
    return json_response({**answer, "mayChange": may}, media_type=JSON)


async def add_acls(request: Request, context: ServerContext) -> Response:
    """Add rules."""
    cluster = administration_of(context, secret=True)
    rules = read_rules(request.body)
    await run(context, lambda: cluster.rules.add(rules))
    for rule in rules:
        note_change(request, "add rule", str(rule))
    return json_response({"added": len(rules)}, status=201, media_type=JSON)


async def remove_acls(request: Request, context: ServerContext) -> Response:
    """Remove rules; 404 if there is none of them."""
    cluster = administration_of(context, secret=True)
    rules = read_rules(request.body)
    removed = await run(context, lambda: cluster.rules.remove(rules))
    for rule in rules:
        note_change(request, "remove rule", str(rule))
    return json_response({"removed": removed}, media_type=JSON)


def _text(rule: ShownRule) -> str:
    return " ".join(rule)
