"""Rules and filters of access control lists in the fields of Kafka's messages."""

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from duolog.security.authorization.acls import Acl, PatternType
from duolog.security.changes.acls import AclFilter

if TYPE_CHECKING:
    from kio.schema.delete_acls.v1.request import DeleteAclsFilter as OldestFilter
    from kio.schema.delete_acls.v3.request import DeleteAclsFilter as NewestFilter
    from kio.schema.describe_acls.v1.request import DescribeAclsRequest as Oldest
    from kio.schema.describe_acls.v3.request import DescribeAclsRequest as Newest

    from duolog.security.authorization.operations import ResourceType


def describe_filter(request: "Oldest | Newest") -> AclFilter:
    """Return the filter of a DescribeAcls request."""
    return AclFilter(
        request.resource_type_filter,
        request.pattern_type_filter,
        request.resource_name_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )


def delete_filter(row: "OldestFilter | NewestFilter") -> AclFilter:
    """Return a filter of a DeleteAcls request."""
    return AclFilter(
        row.resource_type_filter,
        row.pattern_type_filter,
        row.resource_name_filter,
        row.principal_filter,
        row.host_filter,
        row.operation,
        row.permission_type,
    )


def described(acls: Iterable[Acl]) -> list[dict[str, object]]:
    """Return rules as DescribeAcls has them, by resource."""
    by_resource: dict[tuple[ResourceType, PatternType, str], list[Acl]] = defaultdict(list)
    for acl in acls:
        by_resource[acl.resource_type, acl.pattern_type, acl.resource_name].append(acl)
    return [
        {
            "resource_type": resource_type,
            "resource_name": name,
            "pattern_type": pattern_type,
            "acls": [_rule(acl) for acl in sorted(of_resource)],
        }
        for (resource_type, pattern_type, name), of_resource in sorted(by_resource.items())
    ]


def deleted(acls: Iterable[Acl]) -> list[dict[str, object]]:
    """Return rules as DeleteAcls has them."""
    return [
        {
            "error_message": None,
            "resource_type": acl.resource_type,
            "resource_name": acl.resource_name,
            "pattern_type": acl.pattern_type,
            **_rule(acl),
        }
        for acl in acls
    ]


def _rule(acl: Acl) -> dict[str, object]:
    return {
        "principal": str(acl.principal),
        "host": acl.host,
        "operation": acl.operation,
        "permission_type": acl.permission,
    }
