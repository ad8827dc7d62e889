package org.duolog.kernel.spec;

import java.util.List;

/**
 * Sends records over an edge, under new keys if there are any, or each to every task. To the task of the
 * key, or of a partition; of no more than partitions, if they are given.
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
