import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * The expressions of a plan, evaluated in plain Java: the small set that the oracle's plans use.
 *
 * <p>Integers are Long, DOUBLE is Double, a null goes through every function that does not say
 * otherwise. Integers do not wrap: the oracle's numbers are small.
 */
final class Expressions {
  /** The columns that an expression may name. */
  record Scope(
      Map<String, Object> columns,
      Map<String, Object> table,
      Map<String, Object> accumulators,
      Long time,
      Map<String, Object> beside) {
    Scope(
        Map<String, Object> columns,
        Map<String, Object> table,
        Map<String, Object> accumulators,
        Long time) {
      this(columns, table, accumulators, time, Map.of());
    }
  }

  private Expressions() {}

  static Object evaluate(JsonNode expression, Scope scope) {
    String kind = expression.get("is").asText();
    return switch (kind) {
      case "column" -> named(scope.columns(), expression);
      case "table" -> named(scope.table(), expression);
      case "accumulator" -> named(scope.accumulators(), expression);
      case "metadata" -> beside(expression, scope.beside());
      case "time" -> Objects.requireNonNull(scope.time(), "no time is known here");
      case "literal" -> Json.plain(expression.get("value"));
      case "cast" -> cast(evaluate(expression.get("arg"), scope), expression.get("to").asText());
      case "call" -> call(expression.get("function").asText(), arguments(expression, scope));
      default -> throw new IllegalArgumentException("no expression " + kind);
    };
  }

  private static Object beside(JsonNode expression, Map<String, Object> beside) {
    String part = expression.get("part").asText();
    return part.equals("header")
        ? RecordMetadata.header(beside, expression.get("header").asText())
        : beside.get(part);
  }

  private static Object named(Map<String, Object> values, JsonNode expression) {
    String name = expression.get("name").asText();
    if (!values.containsKey(name)) {
      throw new IllegalArgumentException("no column " + name + " in " + values.keySet());
    }
    return values.get(name);
  }

  private static List<Object> arguments(JsonNode expression, Scope scope) {
    List<Object> found = new ArrayList<>();
    expression.get("args").forEach(arg -> found.add(evaluate(arg, scope)));
    return found;
  }

  private static Object cast(Object value, String type) {
    if (value == null) {
      return null;
    }
    return switch (type) {
      case "STRING" ->
          value instanceof byte[] bytes
              ? new String(bytes, java.nio.charset.StandardCharsets.UTF_8)
              : value.toString();
      case "DOUBLE" -> ((Number) value).doubleValue();
      case "INT", "BIGINT" -> ((Number) value).longValue();
      case "BOOLEAN" -> (Boolean) value;
      default -> throw new IllegalArgumentException("no cast to " + type);
    };
  }

  private static Object call(String function, List<Object> args) {
    switch (function) {
      case "AND":
        return args.contains(false) ? Boolean.FALSE : args.contains(null) ? null : Boolean.TRUE;
      case "OR":
        return args.contains(true) ? Boolean.TRUE : args.contains(null) ? null : Boolean.FALSE;
      case "IS_NULL":
        return args.get(0) == null;
      case "IS_NOT_NULL":
        return args.get(0) != null;
      case "COALESCE":
        return args.stream().filter(Objects::nonNull).findFirst().orElse(null);
      case "ARRAY":
        return args;
      case "IF", "CASE":
        return choose(args);
      case "LEAST":
        return args.stream().filter(Objects::nonNull).min(Expressions::compare).orElse(null);
      case "GREATEST":
        return args.stream().filter(Objects::nonNull).max(Expressions::compare).orElse(null);
      default:
        if (CollectedValues.knows(function)) {
          return CollectedValues.call(function, args);
        }
        return args.contains(null) ? null : strict(function, args);
    }
  }

  private static Object choose(List<Object> args) {
    int at = 0;
    for (; at + 1 < args.size(); at += 2) {
      if (Boolean.TRUE.equals(args.get(at))) {
        return args.get(at + 1);
      }
    }
    return at < args.size() ? args.get(at) : null;
  }

  private static Object strict(String function, List<Object> args) {
    Object left = args.get(0);
    Object right = args.size() > 1 ? args.get(1) : null;
    return switch (function) {
      case "NOT" -> !(Boolean) left;
      case "ABS" -> Math.abs((Long) left);
      case "=" -> compare(left, right) == 0;
      case "IN" -> args.subList(1, args.size()).contains(left);
      case "<>" -> compare(left, right) != 0;
      case "<" -> compare(left, right) < 0;
      case "<=" -> compare(left, right) <= 0;
      case ">" -> compare(left, right) > 0;
      case ">=" -> compare(left, right) >= 0;
      case "CONCAT" -> String.join("", args.stream().map(String.class::cast).toList());
      case "SPLIT" -> List.of(((String) left).split(Pattern.quote((String) right), -1));
      case "UPPER" -> ((String) left).toUpperCase(java.util.Locale.ROOT);
      case "+", "-", "*", "/", "%" -> arithmetic(function, (Number) left, (Number) right);
      default -> throw new IllegalArgumentException("no function " + function);
    };
  }

  private static Object arithmetic(String function, Number left, Number right) {
    if (left instanceof Long a && right instanceof Long b && !function.equals("/")) {
      return switch (function) {
        case "+" -> a + b;
        case "-" -> a - b;
        case "*" -> a * b;
        default -> b == 0 ? null : (Object) (a % b);
      };
    }
    double a = left.doubleValue();
    double b = right.doubleValue();
    return switch (function) {
      case "+" -> a + b;
      case "-" -> a - b;
      case "*" -> a * b;
      case "/" -> b == 0 ? null : (Object) (a / b);
      default -> b == 0 ? null : (Object) (a % b);
    };
  }

  private static int compare(Object left, Object right) {
    if (left instanceof Long a && right instanceof Long b) {
      return Long.compare(a, b);
    }
    if (left instanceof Number a && right instanceof Number b) {
      return Double.compare(a.doubleValue(), b.doubleValue());
    }
    if (left instanceof String a) {
      return a.compareTo((String) right);
    }
    return ((Boolean) left).compareTo((Boolean) right);
  }
}
