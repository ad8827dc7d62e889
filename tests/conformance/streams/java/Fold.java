import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An aggregate's steps; the state of a group is a row of accumulators. */
final class Fold {
  private final Columns group;
  private final Columns kept;
  private final JsonNode accumulators;
  private final List<String> names = new ArrayList<>();

  /** Over records of a group; its results have the key that {@code kept} knows. */
  Fold(Columns group, Columns kept, JsonNode accumulators) {
    this.group = group;
    this.kept = kept;
    this.accumulators = accumulators;
    accumulators.forEach(one -> names.add(one.get("name").asText()));
  }

  Json.Row initial() {
    Expressions.Scope nothing = new Expressions.Scope(Map.of(), Map.of(), Map.of(), null);
    return new Json.Row(step("initial", nothing), Long.MIN_VALUE);
  }

  static boolean isInitial(Json.Row kept) {
    return kept.time() == Long.MIN_VALUE;
  }

  Json.Row add(Object key, Json.Row row, Json.Row kept) {
    return step("add", key, row, kept);
  }

  /** Merge the accumulators of two sessions; their timestamps do not matter. */
  Json.Row merge(Object key, Json.Row row, Json.Row other) {
    Expressions.Scope both =
        new Expressions.Scope(Map.of(), named(other), named(row), null);
    return new Json.Row(step("merge", both), Math.max(row.time(), other.time()));
  }

  Json.Row subtract(Object key, Json.Row row, Json.Row kept) {
    return step("subtract", key, row, kept);
  }

  Json.Row results(JsonNode results, Object key, Json.Row row) {
    Json.Row noRecord = new Json.Row(null, row.time());
    return new Json.Row(
        Columns.all(results, kept.scope(key, noRecord, Map.of(), named(row))), row.time());
  }

  private Json.Row step(String which, Object key, Json.Row row, Json.Row kept) {
    return new Json.Row(
        step(which, group.scope(key, row, Map.of(), named(kept))),
        Math.max(kept.time(), row.time()));
  }

  private List<Object> step(String which, Expressions.Scope scope) {
    List<Object> found = new ArrayList<>();
    accumulators.forEach(kept -> found.add(Expressions.evaluate(kept.get(which), scope)));
    return found;
  }

  private Map<String, Object> named(Json.Row kept) {
    return PlanBuilder.named(names, kept.values());
  }
}
