package org.duolog.kernel.spec;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Reads a node of a spec: the class of its kind from the kind's own fields, and a {@link NodeSpec}
 * from the others.
 *
 * <pre>
 *   {"kind": "filter", "name": …, "children": …, "predicate": …}     as the engine writes it
 *   Filter[node=NodeSpec[kind=filter, name=…, children=…, …], predicate=…, …]
 * </pre>
 */
final class OperatorReader extends StdDeserializer<Operator> {
  private static final long serialVersionUID = 1L;

  /** The class of each kind. */
  private static final Map<String, Class<? extends Operator>> KINDS =
      Map.ofEntries(
          Map.entry("filter", Operator.Filter.class),
          Map.entry("project", Operator.Project.class),
          Map.entry("python", Operator.Python.class),
          Map.entry("select_key", Operator.SelectKey.class),
          Map.entry("explode", Operator.Explode.class),
          Map.entry("split", Operator.Split.class),
          Map.entry("to_stream", Operator.ToStream.class),
          Map.entry("table", Operator.Table.class),
          Map.entry("lookup", JoinOperators.Lookup.class),
          Map.entry("wait", JoinOperators.Wait.class),
          Map.entry("join", JoinOperators.Join.class),
          Map.entry("number", ForeignOperators.Number.class),
          Map.entry("announce", ForeignOperators.Announce.class),
          Map.entry("subscribe", ForeignOperators.Subscribe.class),
          Map.entry("subscriptions", ForeignOperators.Subscriptions.class),
          Map.entry("foreign_table", ForeignOperators.ForeignTable.class),
          Map.entry("newest", ForeignOperators.Newest.class),
          Map.entry("foreign_join", ForeignOperators.ForeignJoin.class),
          Map.entry("stream_join", JoinOperators.StreamJoin.class),
          Map.entry("fold", Operator.Fold.class),
          Map.entry("headers", Operator.Headers.class),
          Map.entry("time", Operator.Time.class),
          Map.entry("print", Operator.Print.class),
          Map.entry("window_fold", Operator.WindowFold.class),
          Map.entry("session_fold", Operator.SessionFold.class),
          Map.entry("sliding_fold", Operator.SlidingFold.class),
          Map.entry("suppress", Operator.Suppress.class),
          Map.entry("idle", Operator.Idle.class),
          Map.entry("process", ProcessorOperators.Process.class),
          Map.entry("process_output", ProcessorOperators.ProcessOutput.class),
          Map.entry("punctuate", ProcessorOperators.Punctuate.class),
          Map.entry("route", RouteOperator.class),
          Map.entry("sink", Operator.Sink.class));

  /** The names in JSON of the fields that all kinds have. */
  private static final List<String> COMMON =
      Arrays.stream(NodeSpec.class.getRecordComponents())
          .map(field -> SnakeCaseStrategy.INSTANCE.translate(field.getName()))
          .toList();

  OperatorReader() {
    super(Operator.class);
  }

  @Override
  public Operator deserialize(JsonParser parser, DeserializationContext context)
      throws IOException {
    ObjectNode fields = context.readValue(parser, ObjectNode.class);
    ObjectNode node = fields.objectNode();
    for (String name : COMMON) {
      JsonNode value = fields.remove(name);
      if (value != null) {
        node.set(name, value);
      }
    }
    String kind = node.path("kind").asText();
    Class<? extends Operator> type = KINDS.get(kind);
    if (type == null) {
      return context.reportInputMismatch(this, "a node of the unknown kind \"%s\"", kind);
    }
    fields.set("node", node);
    return context.readTreeAsValue(fields, type);
  }
}
