import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An aggregate's steps: what is kept for a group is a row of accumulators. */
final class Fold {
  private final Columns group;
  private final JsonNode accumulators;
  private final List<String> names = new ArrayList<>();

  Fold(Columns group, JsonNode accumulators) {
    this.group = group;
    this.accumulators = accumulators;
    accumulators.forEach(kept -> names.add(kept.get("name").asText()));
  }

  Json.Row initial() {
    Expressions.Scope nothing = new Expressions.Scope(Map.of(), Map.of(), Map.of(), null);
    return new Json.Row(step("initial", nothing), Long.MIN_VALUE);
  }

  static boolean isInitial(Json.Row kept) {
    return kept.time() == Long.MIN_VALUE;
  }

  Json.Row add(List<Object> key, Json.Row row, Json.Row kept) {
    return step("add", key, row, kept);
  }

  Json.Row subtract(List<Object> key, Json.Row row, Json.Row kept) {
    return step("subtract", key, row, kept);
  }

  Json.Row results(JsonNode results, List<Object> key, Json.Row kept) {
    Json.Row noRecord = new Json.Row(null, kept.time());
    return new Json.Row(
        Columns.all(results, group.scope(key, noRecord, Map.of(), named(kept))), kept.time());
  }

  private Json.Row step(String which, List<Object> key, Json.Row row, Json.Row kept) {
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
