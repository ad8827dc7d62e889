package org.duolog.kernel.functions.format.schema;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** Reads a record: its fields in the writer's order, to their columns. Threads: any. */
final class AvroRecord implements AvroReading {
  private static final int SKIPPED = -1;

  private final AvroReading[] steps;
  private final int[] places;
  private final boolean[] again;
  private final int columns;

  /**
   * @param places the column of each step; -1 if the field has none
   * @param again true for a step that reads the same field as the step before, because two columns
   *     have its name
   */
  AvroRecord(List<AvroReading> steps, List<Integer> places, List<Boolean> again, int columns) {
    this.steps = steps.toArray(AvroReading[]::new);
    this.places = places.stream().mapToInt(Integer::intValue).toArray();
    this.again = new boolean[places.size()];
    for (int i = 0; i < this.again.length; i++) {
      this.again[i] = again.get(i);
    }
    this.columns = columns;
  }

  @Override
  public Object read(AvroInput in) {
    Object[] values = new Object[columns];
    int start = in.at;
    for (int i = 0; i < steps.length; i++) {
      if (again[i]) {
        in.at = start;
      }
      start = in.at;
      Object value = steps[i].read(in);
      if (places[i] != SKIPPED) {
        values[places[i]] = value;
      }
    }
    return new GenericInternalRow(values);
  }
}
