package org.duolog.kernel.store;

import java.util.Arrays;
import java.util.Random;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.encoders.package$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.CompositeKeyStateEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;

/** Compares encoded keys, values and groups of a map with Spark's own; prints how many differ. */
public final class BytesMapRows {
  private static int wrong;

  private BytesMapRows() {}

  public static void main(String[] args) {
    CompositeKeyStateEncoder<byte[], byte[]> sparks =
        new CompositeKeyStateEncoder<>(
            of(Encoders.LONG()), Encoders.BINARY(), Encoders.BINARY(), "store", false);
    BytesMap.Rows rows = new BytesMap.Rows();
    Random random = new Random(7);
    for (int round = 0; round < 2_000; round++) {
      byte[] key = bytes(random, 300);
      byte[] value = bytes(random, 3_000);
      long group = random.nextInt(3) == 0 ? random.nextLong() : random.nextInt(9) - 4;
      ImplicitGroupingKeyTracker.setImplicitKey(group);
      UnsafeRow madeKey = rows.key(group, key);
      check(madeKey, sparks.encodeCompositeKey(key));
      check(Arrays.equals(key, BytesMap.Rows.userKey(madeKey)));
      check(rows.value(value), sparks.encodeValue(value));
      check(rows.group(group), sparks.encodeGroupingKey());
    }
    System.out.println(wrong);
  }

  /** Short arrays follow long ones, to find bytes that are left over. */
  private static byte[] bytes(Random random, int max) {
    byte[] made = new byte[random.nextInt(random.nextBoolean() ? 18 : max)];
    random.nextBytes(made);
    return made;
  }

  @SuppressWarnings("unchecked")
  private static ExpressionEncoder<Object> of(Encoder<?> encoder) {
    return (ExpressionEncoder<Object>) package$.MODULE$.encoderFor(encoder);
  }

  private static void check(UnsafeRow made, UnsafeRow sparks) {
    check(made.equals(sparks));
  }

  private static void check(boolean right) {
    wrong += right ? 0 : 1;
  }
}
