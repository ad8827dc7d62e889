import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;

/**
 * State of collecting aggregates: lists, sets, and multisets.
 *
 * <p>Duolog stores multisets as bytes and separate pages. Here they are an ascending list that repeats
 * equal values.
 */
final class CollectedValues {
  private CollectedValues() {}

  static boolean knows(String function) {
    return function.startsWith("LIST_")
        || function.startsWith("SET_")
        || function.startsWith("VALUES_")
        || List.of("EMPTY", "ITEM", "SORTABLE").contains(function);
  }

  static Object call(String function, List<Object> args) {
    Object second = args.size() > 1 ? args.get(1) : null;
    return switch (function) {
      case "EMPTY" -> new ArrayList<>();
      case "SORTABLE" -> args;
      case "ITEM" -> item(list(args.get(0)), second);
      case "LIST_ADD" -> concat(list(args.get(0)), one(second), limit(args.get(2)), false);
      case "LIST_CONCAT" -> concat(list(args.get(0)), list(second), limit(args.get(2)), false);
      case "SET_ADD" -> concat(list(args.get(0)), one(second), limit(args.get(2)), true);
      case "SET_CONCAT" -> concat(list(args.get(0)), list(second), limit(args.get(2)), true);
      case "LIST_LAST" -> last(list(args.get(0)), limit(second));
      case "LIST_REMOVE" -> without(list(args.get(0)), second);
      case "VALUES_ADD" -> sorted(list(args.get(0)), some(second));
      case "VALUES_SUBTRACT" -> without(list(args.get(0)), second);
      case "VALUES_MERGE" -> sorted(list(args.get(0)), list(second));
      case "VALUES_ADD_TOP" -> top(sorted(list(args.get(0)), some(second)), args.get(2), args.get(3));
      case "VALUES_MERGE_TOP" ->
          top(sorted(list(args.get(0)), list(second)), args.get(2), args.get(3));
      case "VALUES_LEAST" -> first(list(args.get(0)), args.get(2), args.get(3));
      case "VALUES_GREATEST" -> first(reversed(list(args.get(0))), args.get(2), args.get(3));
      case "VALUES_DISTINCT" -> (long) distinct(list(args.get(0))).size();
      default -> throw new IllegalArgumentException("no function " + function);
    };
  }

  @SuppressWarnings("unchecked")
  private static List<Object> list(Object given) {
    return given == null ? List.of() : (List<Object>) given;
  }

  private static List<Object> one(Object value) {
    List<Object> found = new ArrayList<>();
    found.add(value);
    return found;
  }

  /** The empty state. */
  private static List<Object> some(Object value) {
    return value == null ? List.of() : List.of(value);
  }

  private static int limit(Object given) {
    return (int) Math.min(Integer.MAX_VALUE, (Long) given);
  }

  private static Object item(List<Object> of, Object key) {
    long place = key instanceof String name ? 1 + Long.parseLong(name.substring(3)) : (Long) key;
    return place < of.size() ? of.get((int) place) : null;
  }

  private static List<Object> concat(List<Object> kept, List<Object> more, int limit, boolean once) {
    List<Object> found = new ArrayList<>(kept);
    for (Object value : more) {
      if (found.size() < limit && !(once && found.contains(value))) {
        found.add(value);
      }
    }
    return found;
  }

  private static List<Object> last(List<Object> of, int many) {
    return new ArrayList<>(of.subList(Math.max(0, of.size() - many), of.size()));
  }

  private static List<Object> without(List<Object> kept, Object value) {
    List<Object> found = new ArrayList<>(kept);
    int at = found.lastIndexOf(value);
    if (at >= 0) {
      found.remove(at);
    }
    return found;
  }

  private static List<Object> sorted(List<Object> kept, List<Object> more) {
    List<Object> found = new ArrayList<>(kept);
    found.addAll(more);
    found.sort(CollectedValues::compare);
    return found;
  }

  private static List<Object> reversed(List<Object> ascending) {
    List<Object> found = new ArrayList<>(ascending);
    java.util.Collections.reverse(found);
    return found;
  }

  private static List<Object> top(List<Object> ascending, Object many, Object once) {
    return reversed(first(reversed(ascending), many, once));
  }

  private static List<Object> first(List<Object> of, Object many, Object once) {
    List<Object> found = (Boolean) once ? distinct(of) : of;
    return new ArrayList<>(found.subList(0, Math.min(limit(many), found.size())));
  }

  private static List<Object> distinct(List<Object> of) {
    return new ArrayList<>(new java.util.LinkedHashSet<>(of));
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static int compare(Object left, Object right) {
    if (left instanceof List<?> lefts && right instanceof List<?> rights) {
      for (int i = 0; i < lefts.size(); i++) {
        Comparator<Object> nullsFirst = Comparator.nullsFirst(CollectedValues::compare);
        int order = nullsFirst.compare(lefts.get(i), rights.get(i));
        if (order != 0) {
          return order;
        }
      }
      return 0;
    }
    return ((Comparable) left).compareTo(Objects.requireNonNull(right));
  }
}
