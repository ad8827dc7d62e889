package org.duolog.kernel;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** Functions of texts that Spark's SQL lacks; called by the code that Spark generates. */
public final class Texts {
  private static final int ALL = -1;

  private Texts() {}

  /** The parts between separators, empty ones too; an empty separator parts nothing. */
  public static ArrayData split(UTF8String text, UTF8String separator) {
    return new GenericArrayData((Object[]) text.splitSQL(separator, ALL));
  }
}
