"""All access control lists and roles, found by resource and principal.

    type ─► literal name ─► principal ─► rules
         ─► prefix       ─► principal ─► rules
    member ─► roles

A decision looks up one literal name, the wildcard, and one prefix per length that occurs, so its
cost does not grow with the number of rules. Each rule is stored in exactly one set, and removing
it affects no other rule (CVE-2024-27309 was a removal that lost the rules next to it).

Threads: one thread, the event loop of the server.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from duolog.security.authorization.acls import EVERY_NAME, Acl, PatternType
from duolog.security.authorization.operations import ResourceType
from duolog.security.identity.principal import USER, WILDCARD, Principal

EVERY_USER = Principal(USER, WILDCARD)

Bucket = dict[Principal, set[Acl]]
"""The rules of one pattern by principal; never empty, and without empty sets."""


class AclIndex:
    """Rules and roles."""

    def __init__(self, acls: Iterable[Acl] = ()) -> None:
        self.epoch = 0
        """Grows with every change."""
        self._acls: set[Acl] = set()
        self._types: dict[ResourceType, _TypeIndex] = {}
        self._roles: dict[Principal, frozenset[Principal]] = {}
        for acl in acls:
            self.add(acl)

    def __len__(self) -> int:
        return len(self._acls)

    def __iter__(self) -> Iterator[Acl]:
        return iter(self._acls)

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._acls

    def add(self, acl: Acl) -> None:
        """Add a rule; one that exists stays."""
        if acl in self._acls:
            return
        self._acls.add(acl)
        self._types.setdefault(acl.resource_type, _TypeIndex()).add(acl)
        self.epoch += 1

    def remove(self, acl: Acl) -> None:
        """Remove a rule if it exists."""
        if acl not in self._acls:
            return
        self._acls.remove(acl)
        self._types[acl.resource_type].remove(acl)
        self.epoch += 1

    def set_roles(self, member: Principal, roles: frozenset[Principal]) -> None:
        """Replace the roles of a principal."""
        if roles:
            self._roles[member] = roles
        else:
            self._roles.pop(member, None)
        self.epoch += 1

    def principals(self, principal: Principal) -> tuple[Principal, ...]:
        """Return the principals whose rules apply to a client: itself, its roles, `User:*`."""
        return (principal, EVERY_USER, *self._roles.get(principal, ()))

    def roles(self) -> dict[Principal, frozenset[Principal]]:
        """Return the roles of all principals that have some."""
        return dict(self._roles)

    def buckets(self, resource_type: ResourceType, name: str) -> list[Bucket]:
        """Return the rules that cover a resource; empty if none does, for any principal."""
        index = self._types.get(resource_type)
        return [] if index is None else index.buckets(name)

    def covers_all(self, resource_type: ResourceType) -> bool:
        """Return whether a rule covers every resource of a type."""
        index = self._types.get(resource_type)
        return index is not None and (EVERY_NAME in index.literal or "" in index.prefixed)

    def of_type(self, resource_type: ResourceType) -> Iterator[Bucket]:
        """Yield all rules about resources of a type, pattern by pattern."""
        index = self._types.get(resource_type)
        if index is not None:
            yield from index.literal.values()
            yield from index.prefixed.values()


class _TypeIndex:
    """The rules about one type of resource."""

    def __init__(self) -> None:
        self.literal: dict[str, Bucket] = {}
        self.prefixed: dict[str, Bucket] = {}
        self._lengths: Counter[int] = Counter()
        """The number of prefixes of each length."""

    def add(self, acl: Acl) -> None:
        patterns = self._patterns(acl)
        if acl.pattern_type is PatternType.PREFIXED and acl.resource_name not in patterns:
            self._lengths[len(acl.resource_name)] += 1
        bucket = patterns.setdefault(acl.resource_name, {})
        bucket.setdefault(acl.principal, set()).add(acl)

    def remove(self, acl: Acl) -> None:
        patterns = self._patterns(acl)
        bucket = patterns[acl.resource_name]
        rules = bucket[acl.principal]
        rules.remove(acl)
        if not rules:
            del bucket[acl.principal]
        if bucket:
            return
        del patterns[acl.resource_name]
        if acl.pattern_type is PatternType.PREFIXED:
            self._lengths[len(acl.resource_name)] -= 1
            if not self._lengths[len(acl.resource_name)]:
                del self._lengths[len(acl.resource_name)]

    def buckets(self, name: str) -> list[Bucket]:
        found = [self.literal[each] for each in {name, EVERY_NAME} if each in self.literal]
        prefixes = (name[:length] for length in self._lengths if length <= len(name))
        found.extend(self.prefixed[each] for each in prefixes if each in self.prefixed)
        return found

    def _patterns(self, acl: Acl) -> dict[str, Bucket]:
        return self.prefixed if acl.pattern_type is PatternType.PREFIXED else self.literal
