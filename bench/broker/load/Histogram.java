/** Times in nanoseconds, counted in buckets that are at most 1.6 percent wide. */
final class Histogram {
  private static final int HALF_BITS = 6;
  private static final int HALF = 1 << HALF_BITS;

  private final long[] counts = new long[(64 - HALF_BITS + 1) * HALF];
  private long total;
  private long largest;

  void add(long nanoseconds) {
    long value = Math.max(0, nanoseconds);
    counts[bucket(value)]++;
    total++;
    largest = Math.max(largest, value);
  }

  private static int bucket(long value) {
    int shift = Math.max(0, 63 - HALF_BITS - Long.numberOfLeadingZeros(value | 1));
    return shift * HALF + (int) (value >>> shift);
  }

  private static double middle(int bucket) {
    int shift = Math.max(0, bucket / HALF - 1);
    return ((long) (bucket - shift * HALF) << shift) + (1L << shift) / 2.0;
  }

  private double quantile(double share) {
    long rank = (long) Math.ceil(share * total);
    long seen = 0;
    for (int bucket = 0; bucket < counts.length; bucket++) {
      seen += counts[bucket];
      if (seen >= rank) {
        return middle(bucket);
      }
    }
    return largest;
  }

  @Override
  public String toString() {
    if (total == 0) {
      return "null";
    }
    return String.format(
        java.util.Locale.ROOT,
        "{\"p50\": %.4f, \"p99\": %.4f, \"p999\": %.4f, \"max\": %.4f}",
        quantile(0.5) / 1e6,
        quantile(0.99) / 1e6,
        quantile(0.999) / 1e6,
        largest / 1e6);
  }
}
