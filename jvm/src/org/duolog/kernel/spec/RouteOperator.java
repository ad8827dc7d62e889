package org.duolog.kernel.spec;

import java.util.List;

/**
 * Sends records over an edge: to the task of their key, which may be a new one, to the task of a partition (limited to
 * {@code partitions}, if given), or to every task.
 */
public record RouteOperator(
    String name,
    List<Integer> children,
    List<String> keyTypes,
    List<String> valueTypes,
    boolean table,
    int edge,
    List<String> keys,
    String keyBytes,
    boolean everywhere,
    String partition,
    Integer partitions)
    implements Operator {
  public RouteOperator {
    children = Spec.orEmpty(children);
    keyTypes = Spec.orEmpty(keyTypes);
    valueTypes = Spec.orEmpty(valueTypes);
  }
}
