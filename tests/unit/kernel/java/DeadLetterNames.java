package org.duolog.kernel.metrics;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.duolog.kernel.record.CallFailedException;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.record.MisroutedRecordException;
import org.duolog.kernel.record.Origin;
import org.duolog.kernel.record.RecordException;
import org.duolog.kernel.record.RecordFailedException;
import org.duolog.kernel.record.StoreFullException;

/** Writes a dead letter for each exception of the kernel, and for one of Java; prints their header of the exception. */
public final class DeadLetterNames {
  private DeadLetterNames() {}

  public static void main(String[] args) {
    Exception[] causes = {
      new CallFailedException("ValueError: no"),
      new MisroutedRecordException(0, 1),
      new RecordException(new ArithmeticException("too large")),
      new RecordFailedException("no Python", null),
      new StoreFullException("full"),
      new ArithmeticException("too large"),
    };
    Origin origin = new Origin(0, 0, 7L, 99L, null, null);
    byte[] headers = Headers.encode(List.of());
    for (Exception cause : causes) {
      byte[] written =
          DeadLetter.of("shop", origin, "orders", headers, new byte[24], "dead", cause).headers();
      for (Header header : Headers.decode(written)) {
        if (header.key().equals("__streams.errors.exception")) {
          System.out.println(new String(header.value(), StandardCharsets.UTF_8));
        }
      }
    }
  }
}
