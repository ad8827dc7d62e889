package org.duolog.kernel.store;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Prints for each entry of a partition whether it was committed.
 *
 * <p>Arguments: the generations and their last epochs as {@code 1:40,2:8}, then the entries as {@code
 * generation:epoch}, or {@code none} for an entry without the header that names its epoch.
 */
public final class CommittedEntries {
  private CommittedEntries() {}

  public static void main(String[] arguments) {
    List<List<Long>> generations = new ArrayList<>();
    for (String of : arguments[0].split(",")) {
      generations.add(List.of(number(of, 0), number(of, 1)));
    }
    Changelog.Committed.InOrder entries = new Changelog.Committed(generations).inOrder();
    for (int at = 1; at < arguments.length; at++) {
      RecordHeaders headers = new RecordHeaders();
      if (!arguments[at].equals("none")) {
        byte[] epoch = Changelog.epoch((int) number(arguments[at], 0), number(arguments[at], 1));
        headers.add(Changelog.EPOCH, epoch);
      }
      System.out.println(entries.isBeyond(headers) ? "beyond" : entries.has(headers));
    }
  }

  private static long number(String of, int part) {
    return Long.parseLong(of.split(":")[part]);
  }
}
