"""The schema registry through this server, within the rights of the client.

    GET     /v1/schemas?search=…&deleted=true&offset=…&limit=…    subjects
    GET     /v1/schemas/versions?subject=…&deleted=true           versions; what the client may do
    GET     /v1/schemas/version?subject=…&version=N|latest        text, references
    GET     /v1/schemas/difference?subject=…&from=N&to=N          two texts
    GET     /v1/schemas/compatibility[?subject=…]                 level of a subject, or of all
    POST    /v1/schemas/compatibility  {"subject": …, "level": …} null: global; set back
    POST    /v1/schemas/check          draft                      every version, with messages
    POST    /v1/schemas/impact         draft, "records": N        readers that it breaks
    POST    /v1/schemas/register       draft
    DELETE  /v1/schemas?subject=…&version=N&permanent=true

A draft is `{"subject": …, "schema": TEXT, "schemaType": …, "references": […]}`. Names of subjects
may have any character, so that they are not a part of the path. `server.schemas.rights` has the
rights. A server without users that has a login of its own at the registry changes nothing there:
everyone who reaches it would have its rights.

Source: Confluent's registry API, whose answers these are made of.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from duolog.core.errors import DuologError
from duolog.security.authorization.operations import Operation
from duolog.server.access.checks import Checks
from duolog.server.administration.requests import (
    ensure_known,
    flag_of,
    read_object,
    read_page,
)
from duolog.server.errors import FORBIDDEN, NOT_READY, RequestRefused
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.administrators import note_change
from duolog.server.operations.context import ServerContext
from duolog.server.operations.visible_state import visible_state
from duolog.server.schemas.guarded_registry import GuardedRegistry
from duolog.server.schemas.impact import VisibleReaders, impact_of
from duolog.server.schemas.refusals import refused
from duolog.server.schemas.requests import level_in, read_draft, subject_in, version_in
from duolog.server.schemas.rights import SubjectRights

if TYPE_CHECKING:
    from duolog.server.schemas.place import RegistryPlace

_RECORDS: Final = 100
_RECORDS_MAX: Final = 1_000


async def subjects(request: Request, context: ServerContext) -> Response:
    """Answer with a page of subjects."""
    place = _place(context)
    page = read_page(request.query, "deleted")
    deleted = flag_of(request.query, "deleted")
    return await _json(
        request, context, place, lambda registry: registry.subjects(page, deleted=deleted)
    )


async def versions(request: Request, context: ServerContext) -> Response:
    """Answer with the versions of a subject."""
    place = _place(context)
    ensure_known(request.query, {"subject", "deleted"})
    subject, deleted = subject_in(request.query), flag_of(request.query, "deleted")
    return await _json(
        request, context, place, lambda registry: registry.versions(subject, deleted=deleted)
    )


async def version(request: Request, context: ServerContext) -> Response:
    """Answer with a version."""
    place = _place(context)
    ensure_known(request.query, {"subject", "version"})
    subject, number = subject_in(request.query), version_in(request.query, "version", "latest")
    return await _json(request, context, place, lambda registry: registry.version(subject, number))


async def difference(request: Request, context: ServerContext) -> Response:
    """Answer with two versions."""
    place = _place(context)
    ensure_known(request.query, {"subject", "from", "to"})
    subject = subject_in(request.query)
    old, new = (version_in(request.query, name, "latest") for name in ("from", "to"))
    return await _json(
        request, context, place, lambda registry: registry.difference(subject, old, new)
    )


async def compatibility(request: Request, context: ServerContext) -> Response:
    """Answer with a compatibility level."""
    place = _place(context)
    ensure_known(request.query, {"subject"})
    subject = subject_in(request.query) if "subject" in request.query else None
    return await _json(request, context, place, lambda registry: registry.level(subject))


async def set_compatibility(request: Request, context: ServerContext) -> Response:
    """Change a compatibility level."""
    place = _place(context, changes=True)
    given = read_object(request.body, ("subject", "level"))
    subject = None if given.get("subject") is None else subject_in(given)
    level = level_in(given)
    answer = await _json(
        request, context, place, lambda registry: registry.set_level(subject, level)
    )
    note_change(request, f"set compatibility level {level}", subject or "all subjects")
    return answer


async def check(request: Request, context: ServerContext) -> Response:
    """Answer with what a subject has against a draft."""
    place = _place(context)
    draft, _ = read_draft(request.body)
    return await _json(request, context, place, lambda registry: registry.check(draft))


async def impact(request: Request, context: ServerContext) -> Response:
    """Answer with the readers that a draft would break."""
    place = _place(context)
    draft, given = read_draft(request.body, "records")
    records = given.get("records", _RECORDS)
    if type(records) is not int or not 0 <= records <= _RECORDS_MAX:
        raise RequestRefused(f"records must be a number between 0 and {_RECORDS_MAX}")
    queries: frozenset[str] = frozenset()
    if context.sql is not None and request.client.authorizer is not None:
        queries = frozenset((await visible_state(request, context)).queries)
    checks = Checks(request.client, asyncio.get_running_loop())
    seen = VisibleReaders(checks, context.service_id, queries)

    def found(registry: GuardedRegistry) -> Any:
        registry.ensure_drafts(Operation.READ, draft)
        return impact_of(draft, place, seen, records)

    return await _json(request, context, place, found)


async def register(request: Request, context: ServerContext) -> Response:
    """Register a draft."""
    place = _place(context, changes=True)
    draft, _ = read_draft(request.body)
    answer = await _json(request, context, place, lambda registry: registry.register(draft))
    note_change(request, "register schema", draft.subject)
    return answer


async def delete(request: Request, context: ServerContext) -> Response:
    """Delete a version or a subject."""
    place = _place(context, changes=True)
    ensure_known(request.query, {"subject", "version", "permanent"})
    subject, number = subject_in(request.query), version_in(request.query, "version")
    permanent = flag_of(request.query, "permanent")
    answer = await _json(
        request,
        context,
        place,
        lambda registry: registry.delete(subject, number, permanent=permanent),
    )
    how = "permanently delete" if permanent else "delete"
    note_change(request, f"{how} version {number or 'all'}", subject)
    return answer


def _place(context: ServerContext, *, changes: bool = False) -> "RegistryPlace":
    place = context.registry
    if place is None:
        raise RequestRefused(
            "This server has no schema registry\nStart it with --registry URL.", NOT_READY
        )
    if changes and place.has_login and context.access.sessions is None:
        raise RequestRefused(
            "This server has no users, but a login of its own at the schema registry, whose rights "
            "it does not pass on\nStart it with --cluster-users, so that each user has rights of "
            "its own.",
            FORBIDDEN,
        )
    return place


async def _json(
    request: Request,
    context: ServerContext,
    place: "RegistryPlace",
    call: Callable[[GuardedRegistry], object],
) -> Response:
    """Run a call on a thread, and translate its errors.

    Raises:
        RequestRefused: it has failed.
    """
    checks = Checks(request.client, asyncio.get_running_loop())

    def run() -> object:
        return call(GuardedRegistry(place.admin, SubjectRights(checks, place.admin.config)))

    try:
        return json_response(await context.workers.run(run), media_type=JSON)
    except DuologError as error:
        raise refused(error) from error
