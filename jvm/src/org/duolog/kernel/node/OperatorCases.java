package org.duolog.kernel.node;

import java.util.HashMap;
import java.util.Map;
import org.duolog.kernel.spec.Operator;

/** A function for each class of operators: the builder of its node, or of its store. */
final class OperatorCases<R> {
  private final Map<Class<?>, Case<Operator, R>> cases = new HashMap<>();

  /** Builds something for one class of operators. */
  interface Case<O extends Operator, R> {
    /** @param owner the operator's name in messages */
    R of(String owner, O operator);
  }

  <O extends Operator> OperatorCases<R> add(Class<O> type, Case<O, R> one) {
    cases.put(type, (owner, operator) -> one.of(owner, type.cast(operator)));
    return this;
  }

  boolean has(Operator operator) {
    return cases.containsKey(operator.getClass());
  }

  /** Builds what an operator needs; null if its class is not here. */
  R of(String owner, Operator operator) {
    Case<Operator, R> found = cases.get(operator.getClass());
    return found == null ? null : found.of(owner, operator);
  }
}
