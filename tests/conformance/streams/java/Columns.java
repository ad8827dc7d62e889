import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The columns that a node's records have, for expressions over them. */
final class Columns {
  private final List<String> key;
  private final List<String> value;

  Columns(JsonNode node) {
    key = PlanBuilder.names(node, "key");
    value = PlanBuilder.names(node, "value");
  }

  Expressions.Scope scope(
      Object keys, Json.Row row, Map<String, Object> table, Map<String, Object> kept) {
    Long time = row == null ? null : row.time();
    return new Expressions.Scope(named(keys, row), table, kept, time);
  }

  /** The scope of a record with its metadata. */
  Expressions.Scope scope(Object keys, Json.Row row, long time, Map<String, Object> beside) {
    return new Expressions.Scope(named(keys, row), Map.of(), Map.of(), time, beside);
  }

  private Map<String, Object> named(Object keys, Json.Row row) {
    Map<String, Object> columns = new HashMap<>(PlanBuilder.named(key, Json.cells(keys)));
    columns.putAll(PlanBuilder.named(value, row == null ? null : row.values()));
    return columns;
  }

  Object value(JsonNode expression, Object keys, Json.Row row) {
    return Expressions.evaluate(expression, scope(keys, row));
  }

  boolean holds(JsonNode predicate, Object keys, Json.Row row) {
    return Boolean.TRUE.equals(value(predicate, keys, row));
  }

  /** The row of `values`; none of none. */
  Json.Row row(JsonNode values, Object keys, Json.Row row) {
    return row == null ? null : new Json.Row(list(values, keys, row), row.time());
  }

  List<Object> list(JsonNode values, Object keys, Json.Row row) {
    return all(values, scope(keys, row));
  }

  /** The key of a record's group; null if it is in no group. */
  List<Object> group(JsonNode keyColumns, Object keys, Json.Row row) {
    return row == null ? null : PlanBuilder.nullIfAny(list(keyColumns, keys, row));
  }

  static List<Object> all(JsonNode values, Expressions.Scope scope) {
    List<Object> found = new ArrayList<>();
    values.forEach(value -> found.add(Expressions.evaluate(value, scope)));
    return found;
  }

  private Expressions.Scope scope(Object keys, Json.Row row) {
    return scope(keys, row, Map.of(), Map.of());
  }
}
