package org.duolog.kernel.functions;

import java.io.Serializable;
import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.hll.TgtHllType;
import org.apache.datasketches.hll.Union;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The steps of aggregates that keep a sketch: an approximate count of distinct values (a
 * HyperLogLog sketch of Apache DataSketches), and approximate quantiles (a histogram with
 * exponential buckets).
 *
 * <pre>
 *   bucket of x > 0    40000 + ceil(ln x / ln 1.02…)   each value is within 1 % of the bucket's
 *             x < 0    the same of -x, negated         ±Infinity, NaN: beyond all others
 * </pre>
 *
 * <p>The buckets are kept in a {@link Multiset}, so that values can be removed. Called from code
 * that Spark generates. Source: C. Masson, J. E. Rim, H. K. Lee, "DDSketch: a fast and
 * fully-mergeable quantile sketch" (VLDB 2019).
 */
public final class Sketches implements Serializable {
  private static final long serialVersionUID = 1L;

  /** 4096 registers: the standard error is 1.04 / 64, that is 1.6 %. */
  private static final int LOG_REGISTERS = 12;

  private static final double ACCURACY = 0.01;
  private static final double FACTOR = (1 + ACCURACY) / (1 - ACCURACY);
  private static final double LOG_FACTOR = StrictMath.log(FACTOR);
  private static final int MIDDLE = 40_000;
  private static final int INFINITE = 2 * MIDDLE;
  private static final OrderedBytes BUCKETS =
      new OrderedBytes(DataTypes.IntegerType);

  private final OrderedBytes values;

  public Sketches(DataType type) {
    values = new OrderedBytes(type);
  }

  /** Adds a value; nulls are ignored. */
  public byte[] add(byte[] sketch, InternalRow row) {
    byte[] value = values.encode(row);
    if (value == null) {
      return sketch;
    }
    HllSketch kept =
        sketch == null
            ? new HllSketch(LOG_REGISTERS, TgtHllType.HLL_4)
            : HllSketch.heapify(sketch);
    // A sketch ignores empty values, so a byte is added.
    byte[] marked = new byte[value.length + 1];
    System.arraycopy(value, 0, marked, 1, value.length);
    kept.update(marked);
    return kept.toCompactByteArray();
  }

  public static byte[] merge(byte[] sketch, byte[] other) {
    if (sketch == null || other == null) {
      return sketch == null ? other : sketch;
    }
    Union union = new Union(LOG_REGISTERS);
    union.update(HllSketch.heapify(sketch));
    union.update(HllSketch.heapify(other));
    return union.getResult(TgtHllType.HLL_4).toCompactByteArray();
  }

  public static long distinct(byte[] sketch) {
    return sketch == null ? 0 : Math.round(HllSketch.heapify(sketch).getEstimate());
  }

  /** Returns the bucket of a value. */
  public static int bucket(double value) {
    if (Double.isNaN(value)) {
      return Integer.MAX_VALUE;
    }
    double size = Math.abs(value);
    if (size == 0) {
      return 0;
    }
    int bucket =
        Double.isInfinite(size)
            ? INFINITE
            : MIDDLE + (int) Math.ceil(StrictMath.log(size) / LOG_FACTOR);
    return value < 0 ? -bucket : bucket;
  }

  /** Returns the value that represents a bucket. */
  static double middle(int bucket) {
    if (bucket == Integer.MAX_VALUE) {
      return Double.NaN;
    }
    if (bucket == 0) {
      return 0;
    }
    int size = Math.abs(bucket);
    double found =
        size == INFINITE
            ? Double.POSITIVE_INFINITY
            : 2 * StrictMath.exp((size - MIDDLE) * LOG_FACTOR) / (FACTOR + 1);
    return bucket < 0 ? -found : found;
  }

  /** Returns the value at a fraction of all ranks; null if there are no values. */
  public static Double quantile(byte[] buckets, double fraction) {
    Multiset kept = Multiset.of(buckets);
    long[] left = {(long) Math.floor(fraction * (kept.total() - 1)) + 1};
    Double[] found = {null};
    kept.visit(
        false,
        (bucket, count) -> {
          left[0] -= count;
          if (left[0] <= 0) {
            found[0] = middle((Integer) BUCKETS.decode(bucket));
          }
          return left[0] > 0;
        });
    return found[0];
  }
}
