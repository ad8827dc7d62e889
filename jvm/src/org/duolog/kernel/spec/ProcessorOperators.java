package org.duolog.kernel.spec;

import java.util.List;

/** Nodes of a spec for processors of users. */
public final class ProcessorOperators {
  private ProcessorOperators() {}

  /**
   * Calls a processor in Python with records of a stream, and by time; hands on the number of an output, and key and
   * value as JSON.
   *
   * @param function its name in the spec
   * @param record bytes of JSON: the columns of key and value
   * @param store what is kept of its stream time and its schedules
   * @param stores those that it sees, which others may fill too
   * @param waits whether it may be called with many records at once
   */
  public record Process(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String function,
      String record,
      String store,
      List<String> stores,
      boolean waits)
      implements Operator {
    public Process {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      stores = Spec.orEmpty(stores);
    }
  }

  /** Makes records of what is forwarded to one output. */
  public record ProcessOutput(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      int output,
      List<String> keys,
      List<String> keyColumns,
      List<String> values,
      List<String> valueColumns)
      implements Operator {
    public ProcessOutput {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      keys = Spec.orEmpty(keys);
      keyColumns = Spec.orEmpty(keyColumns);
      values = Spec.orEmpty(values);
      valueColumns = Spec.orEmpty(valueColumns);
    }
  }

  /** Tells a processor the time by the wall clock. */
  public record Punctuate(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      int process)
      implements Operator {
    public Punctuate {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }
}
