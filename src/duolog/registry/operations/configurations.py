"""Configurations, modes and contexts."""

from duolog.registry.operations.asked import AnyDecision, Asked
from duolog.registry.rules.answers import Answer
from duolog.registry.rules.requests import ConfigRequest, ModeRequest


def _maybe_subject(asked: Asked) -> str | None:
    return asked.readable if "subject" in asked.call.path else None


def _maybe_writable(asked: Asked) -> str | None:
    return asked.allows.writable(asked.operation, asked.call.path.get("subject"))


def config(asked: Asked) -> Answer:
    subject = _maybe_subject(asked)
    return asked.rules.config(subject, default_to_global=asked.flag("defaultToGlobal"))


def set_config(asked: Asked) -> AnyDecision:
    request = ConfigRequest.from_json(asked.call.body)
    asked.allows.ensure_alias(asked.call.path.get("subject"), request.changes.get("alias"))
    return asked.rules.change_config(_maybe_writable(asked), request)


def delete_config(asked: Asked) -> AnyDecision:
    return asked.rules.delete_config(_maybe_writable(asked))


def mode(asked: Asked) -> Answer:
    subject = _maybe_subject(asked)
    return asked.rules.mode(subject, default_to_global=asked.flag("defaultToGlobal"))


def set_mode(asked: Asked) -> AnyDecision:
    request = ModeRequest.from_json(asked.call.body)
    return asked.rules.change_mode(_maybe_writable(asked), request, force=asked.flag("force"))


def delete_mode(asked: Asked) -> AnyDecision:
    return asked.rules.delete_mode(_maybe_writable(asked), recursive=asked.flag("recursive"))


def list_contexts(asked: Asked) -> Answer:
    prefix = asked.text("contextPrefix")
    return asked.seen.contexts(prefix=prefix, page=asked.page)


def delete_context(asked: Asked) -> AnyDecision:
    context = asked.call.path["context"]
    asked.allows.writable(asked.operation, context if context.startswith(":") else f":{context}:")
    return asked.rules.delete_context(context)
