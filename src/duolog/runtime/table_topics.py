"""Find the topic that contains the records of a stream or table."""

from duolog.plan.errors import InvalidPlan, unknown_name
from duolog.plan.nodes import Node, Plan, Sink, Source


def topic_of(plan: Plan, node: Node) -> Source | Sink:
    """Return the source or sink whose topic contains the records of `node`.

    Raises:
        StatementError: no topic contains them.
    """
    if isinstance(node, Source) and node in plan.sources and not node.is_pattern:
        return node
    for sink in plan.sinks:
        if sink.parent is node and sink.topic_of is None:
            return sink
    kind = "table" if node.is_table else "stream"
    if node not in plan.nodes:
        raise InvalidPlan(
            f'{kind} "{node}" is not part of the running topology',
            hint='Write it to a topic, `.to("topic")`, and start again.',
        )
    raise InvalidPlan(
        f'no topic contains the records of {kind} "{node}"',
        detail="It is not written to a topic.",
        hint='Write it to a topic: `.to("topic")`. The application keeps its state.',
        place=plan.places.get(node.name, ""),
    )


def table_named(plan: Plan, name: str) -> Node:
    """Return a table by the topic that it is written to or read from, or by its store.

    Raises:
        StatementError: there is no such table.
    """
    tables = {store: node for node in plan.nodes if node.is_table for store in node.stores}
    # Topics take precedence over stores, and sinks over sources.
    tables |= {source.topic: source for source in reversed(plan.sources) if source.is_table}
    tables |= {
        sink.topic: sink.parent
        for sink in reversed(plan.sinks)
        if sink.is_table and sink.topic_of is None
    }
    if name in tables:
        return tables[name]
    if any(name == node.topic for node in (*plan.sources, *plan.sinks)):
        raise InvalidPlan(
            f'topic "{name}" contains a stream, not a table',
            hint="Use a table: only tables have current rows.",
        )
    raise unknown_name("table", name, tables)
