package org.duolog.kernel.functions;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.apache.spark.sql.types.Decimal;

/**
 * Sums of DECIMALs in which nothing is lost: Spark's own is null where the result is too wide, and
 * gives up digits behind the point beyond 38.
 *
 * <p>Called by the code that Spark generates.
 */
public final class DecimalSums {
  private DecimalSums() {}

  public static Decimal add(Decimal left, Decimal right, int precision, int scale) {
    BigDecimal sum =
        left.toJavaBigDecimal()
            .add(right.toJavaBigDecimal())
            .setScale(scale, RoundingMode.HALF_UP);
    if (sum.precision() > precision) {
      throw new ArithmeticException(
          String.format("Numeric field overflow: %s does not fit DECIMAL(%d,%d)", sum, precision, scale));
    }
    return Decimal.apply(sum, precision, scale);
  }
}
