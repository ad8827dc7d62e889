"""The page of the rights that each endpoint of the registry needs, from the table it checks by."""

from collections.abc import Iterator

from duolog.registry.http.routes import ENDPOINTS, Endpoint
from duolog.registry.operations.rights import RIGHTS

INTRO = """\
The rights on subjects that a client needs for each endpoint of the schema registry, if it takes its
users from the cluster (`duolog registry --cluster-users`, or the registry of a broker with an
authorizer). The registry checks by the table from which this page is written. A test sends every
request without a login, with wrong logins, and as users with several rights, and compares the
answers about hidden subjects with those about missing ones, byte by byte.

- Every endpoint needs a login. *None* means that it needs no right.
- *Answered as if it did not exist:* status, error code, headers and text are those for a missing
  subject, id, GUID or association. Aliases, other contexts and ids lead to no hidden subject.
- *Left out of the answer:* pages are counted without what is left out.
- *403:* changes are refused by the client's rights alone, whether the subject exists or not.
- *All subjects* needs a rule with the name `*`.
- WRITE, DELETE and READ include DESCRIBE; ALTER_CONFIGS includes DESCRIBE_CONFIGS. A client that
  registers schemas and looks them up needs WRITE and READ.

What stays visible: a schema shows the names of the subjects that it refers to. Ids are given in
order, so a client that registers schemas sees how many there are. A schema that another subject
has already gets that schema's id. An incompatible schema is refused with the text of the version
before it. A change of associations is refused if the resource has one with a subject that the
client may not change."""


def registry_rights_page() -> str:
    """Return the page."""
    head = ("| endpoint | operation | on | without the right |", "|---|---|---|---|")
    rows = [row for endpoint in ENDPOINTS for row in _rows(endpoint)]
    return "\n\n".join(
        ("# Rights that each registry endpoint needs", INTRO, "\n".join((*head, *rows)))
    )


def _rows(endpoint: Endpoint) -> Iterator[str]:
    shown = f"`{endpoint.method} {endpoint.path}`"
    rights = RIGHTS[endpoint.operation]
    if not rights:
        yield f"| {shown} | none | | |"
    for right in rights:
        yield f"| {shown} | {right.operation.name} | {right.named_by} | {right.effect.value} |"
