package org.duolog.kernel.spec;

import java.util.List;

/**
 * Sends records over an edge: to the task of their key, which may be a new one, to the task of a
 * partition (limited to {@code partitions}, if given), or to every task.
 */
public record RouteOperator(
    NodeSpec node,
    int edge,
    List<String> keys,
    String keyBytes,
    boolean everywhere,
    String partition,
    Integer partitions)
    implements Operator {}
