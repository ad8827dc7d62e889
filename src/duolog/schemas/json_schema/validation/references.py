"""The check of `$ref`, and of references that depend on the way to them."""

from urllib.parse import urldefrag

from duolog.schemas.json_schema.documents import Node, Resource
from duolog.schemas.json_schema.validation.place import Place
from duolog.schemas.json_schema.validation.run import Check, Evaluated, Problem, Run, Value


def reference_checks(place: Place) -> list[Check]:
    """Return the checks of the references of a schema."""
    raw = place.raw
    checks: list[Check] = []
    if isinstance(ref := raw.get("$ref"), str):
        checks.append(_static(place.documents.resolve(ref, place.node)))
    if place.node.draft.modern and isinstance(ref := raw.get("$dynamicRef"), str):
        checks.append(_dynamic(place, ref))
    if place.node.draft.modern and isinstance(raw.get("$recursiveRef"), str):
        checks.append(_recursive(place))
    return checks


def _static(target: Node) -> Check:
    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        return run.check_once(target, instance, evaluated)

    return check


def _dynamic(place: Place, ref: str) -> Check:
    found = place.documents.resolve(ref, place.node)
    _, name = urldefrag(ref)
    bookend = found.resource.dynamic.get(name) is found.raw

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        target = found
        if bookend:
            outermost = next((each for each in run.scope if name in each.dynamic), None)
            if outermost is not None:
                target = place.documents.anchored(outermost, outermost.dynamic[name])
        return run.check(target, instance, evaluated)

    return check


def _recursive(place: Place) -> Check:
    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        resource = place.node.resource
        if _is_recursive(resource):
            resource = next(each for each in run.scope if _is_recursive(each))
        return run.check(place.documents.anchored(resource, resource.root), instance, evaluated)

    return check


def _is_recursive(resource: Resource) -> bool:
    return isinstance(resource.root, dict) and resource.root.get("$recursiveAnchor") is True
