package org.duolog.kernel.commit;

import java.util.Map;

/**
 * Prints the markers of an application, as {@link Transactions#markers} does.
 *
 * <p>Arguments: the name of the application in Kafka, and the bootstrap servers.
 */
public final class TransactionMarkerScan {
  private TransactionMarkerScan() {}

  public static void main(String[] arguments) throws Exception {
    System.out.println(
        Transactions.markers(arguments[0], Map.of("bootstrap.servers", arguments[1])));
  }
}
