package org.duolog.kernel.functions.format.schema;

import java.io.Serializable;

/**
 * A format whose bytes have a schema, see the classes that implement it. Sent to executors, where
 * readers and writers are made on first use.
 */
public interface SchemaFormat extends Serializable {
  RowReader reader(Columns columns, Options options);

  RowWriter writer(Columns columns, Options options);
}
