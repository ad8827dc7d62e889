package org.duolog.kernel.functions.format;

import java.math.BigDecimal;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/** Converts decimals of other formats to columns. */
public final class DecimalTexts {
  private static final int LONG_DIGITS = 18;

  private DecimalTexts() {}

  /** Returns a number that fits the type exactly; else throws a SerializationException. */
  public static Decimal exact(BigDecimal number, DecimalType type) {
    boolean isShort = number.precision() <= Math.min(type.precision(), LONG_DIGITS);
    if (isShort && number.scale() == type.scale()) {
      return Decimal.apply(number.unscaledValue().longValue(), type.precision(), type.scale());
    }
    try {
      return TextNumbers.decimal(number.toPlainString(), type);
    } catch (NumberFormatException e) {
      throw new SerializationException(
          String.format("%s is not a %s", number.toPlainString(), type.sql()));
    }
  }
}
