"""All endpoints of the registry, and how a path finds its own.

An endpoint is named by its operation. A literal segment precedes a parameter, as in JAX-RS. HEAD is
answered like GET without a body, and OPTIONS with the methods of the path.

Source: the resources of Confluent's registry, except exporters and `/dek-registry`; and
`/v1/metadata/users`, which shows how old the users of the cluster are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final


class Kind(Enum):
    """The effect of an endpoint."""

    SERVER = auto()
    """Answered without the state of the registry."""
    READ = auto()
    """Answered from this registry's state."""
    WRITE = auto()
    """Answered by the leader, which may append records."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method and a path with parameters in braces."""

    method: str
    path: str
    operation: str
    kind: Kind

    @property
    def parameters(self) -> list[str]:
        """The names of the path's parameters, in order."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


class PathNotFound(Exception):
    """No endpoint has this path."""


class MethodNotAllowed(Exception):
    """The path has endpoints, but not with this method."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__()
        self.allowed = allowed


_VERSIONS: Final = "/subjects/{subject}/versions"
_VERSION: Final = "/subjects/{subject}/versions/{version}"
_RESOURCE: Final = "/associations/resources/{resource_id}"

_SERVER: Final = (
    ("GET", "/", "root"),
    ("POST", "/", "root"),
    ("GET", "/v1/metadata/id", "cluster_id"),
    ("GET", "/v1/metadata/version", "server_version"),
    ("GET", "/v1/metadata/deployment", "deployment"),
    ("GET", "/v1/metadata/users", "users_status"),
)
_READ: Final = (
    ("GET", "/subjects", "list_subjects"),
    ("POST", "/subjects/{subject}", "look_up_schema"),
    ("GET", "/subjects/{subject}/metadata", "latest_with_metadata"),
    ("GET", _VERSIONS, "list_versions"),
    ("GET", _VERSION, "version"),
    ("GET", f"{_VERSION}/schema", "version_schema"),
    ("GET", f"{_VERSION}/referencedby", "referenced_by"),
    ("GET", "/schemas", "list_schemas"),
    ("GET", "/schemas/types", "schema_types"),
    ("GET", "/schemas/ids/{id}", "schema_by_id"),
    ("GET", "/schemas/ids/{id}/schema", "schema_text_by_id"),
    ("GET", "/schemas/ids/{id}/subjects", "subjects_of_id"),
    ("GET", "/schemas/ids/{id}/versions", "versions_of_id"),
    ("GET", "/schemas/guids/{guid}", "schema_by_guid"),
    ("GET", "/schemas/guids/{guid}/ids", "ids_of_guid"),
    ("POST", f"/compatibility{_VERSION}", "check_version"),
    ("POST", f"/compatibility{_VERSIONS}", "check_subject"),
    ("GET", "/config", "config"),
    ("GET", "/config/{subject}", "subject_config"),
    ("GET", "/mode", "mode"),
    ("GET", "/mode/{subject}", "subject_mode"),
    ("GET", "/contexts", "list_contexts"),
    ("GET", "/associations/subjects/{subject}", "associations_of_subject"),
    ("GET", "/associations/resources/{namespace}/{resource}", "associations_of_resource"),
    ("GET", _RESOURCE, "associations_of_resource_id"),
    ("POST", "/associations:batchGet", "associations_of_many"),
)
_WRITE: Final = (
    ("POST", _VERSIONS, "register"),
    ("DELETE", "/subjects/{subject}", "delete_subject"),
    ("DELETE", _VERSION, "delete_version"),
    ("POST", f"{_VERSION}/tags", "modify_tags"),
    ("PUT", "/config", "set_config"),
    ("DELETE", "/config", "delete_config"),
    ("PUT", "/config/{subject}", "set_subject_config"),
    ("DELETE", "/config/{subject}", "delete_subject_config"),
    ("PUT", "/mode", "set_mode"),
    ("DELETE", "/mode", "delete_mode"),
    ("PUT", "/mode/{subject}", "set_subject_mode"),
    ("DELETE", "/mode/{subject}", "delete_subject_mode"),
    ("DELETE", "/contexts/{context}", "delete_context"),
    ("POST", "/associations", "create_associations"),
    ("PUT", _RESOURCE, "put_associations"),
    ("DELETE", _RESOURCE, "delete_associations"),
    ("POST", "/associations:batchMutate", "change_associations"),
)
ENDPOINTS: Final = tuple(
    Endpoint(*row, kind)
    for rows, kind in ((_SERVER, Kind.SERVER), (_READ, Kind.READ), (_WRITE, Kind.WRITE))
    for row in rows
)


@dataclass(slots=True)
class _Node:
    """One segment of the tree of paths."""

    literals: dict[str, "_Node"] = field(default_factory=dict)
    parameter: "_Node | None" = None
    endpoints: dict[str, Endpoint] = field(default_factory=dict)


def find(method: str, path: tuple[str, ...]) -> tuple[Endpoint, Mapping[str, str]]:
    """Return the endpoint of a path, and the values of the path's parameters.

    Example:
        >>> endpoint, values = find("GET", ("subjects", "a/b", "versions", "1"))
        >>> endpoint.operation, values
        ('version', {'subject': 'a/b', 'version': '1'})

    Raises:
        PathNotFound: no endpoint has the path.
        MethodNotAllowed: the path has no endpoint with the method.
    """
    node, values = _node(path)
    endpoint = node.endpoints.get("GET" if method == "HEAD" else method)
    if endpoint is None:
        raise MethodNotAllowed(_allowed(node))
    return endpoint, dict(zip(endpoint.parameters, values, strict=True))


def allowed_methods(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the methods of a path.

    Raises:
        PathNotFound: no endpoint has the path.
    """
    return _allowed(_node(path)[0])


def _node(path: tuple[str, ...]) -> tuple[_Node, list[str]]:
    node, values = _ROOT, []
    for segment in path:
        if (literal := node.literals.get(segment)) is not None:
            node = literal
        elif node.parameter is not None and segment:
            values.append(segment)
            node = node.parameter
        else:
            raise PathNotFound
    if not node.endpoints:
        raise PathNotFound
    return node, values


def _allowed(node: _Node) -> tuple[str, ...]:
    head = {"HEAD"} if "GET" in node.endpoints else set()
    return tuple(sorted({*node.endpoints, *head, "OPTIONS"}))


def _tree() -> _Node:
    root = _Node()
    for endpoint in ENDPOINTS:
        node = root
        for segment in filter(None, endpoint.path.split("/")):
            if segment.startswith("{"):
                node.parameter = node = node.parameter or _Node()
            else:
                node = node.literals.setdefault(segment, _Node())
        node.endpoints[endpoint.method] = endpoint
    return root


_ROOT: Final = _tree()
