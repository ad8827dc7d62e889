package org.duolog.kernel.functions;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.apache.spark.sql.types.Decimal;

/**
 * Adds DECIMALs without loss: Spark's own addition is null if the result is too wide, and drops
 * decimal places beyond 38 digits.
 *
 * <p>Called from code that Spark generates.
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
          String.format(
              "Numeric field overflow: %s does not fit DECIMAL(%d,%d)", sum, precision, scale));
    }
    return Decimal.apply(sum, precision, scale);
  }
}
