package dev.millrace.train.metric;

/** The order of scores, highest first; a merge sort of indices, which boxes nothing. */
final class ScoreOrder {
  private ScoreOrder() {}

  /** The numbers of the first {@code n} scores, that of the highest first; equal ones in place. */
  static int[] descending(double[] scores, int n) {
    int[] from = new int[n];
    for (int i = 0; i < n; i++) {
      from[i] = i;
    }
    int[] to = new int[n];
    for (long width = 1; width < n; width *= 2) {
      for (long start = 0; start < n; start += 2 * width) {
        int middle = (int) Math.min(start + width, n);
        merge(scores, from, to, (int) start, middle, (int) Math.min(start + 2 * width, n));
      }
      int[] swap = from;
      from = to;
      to = swap;
    }
    return from;
  }

  private static void merge(double[] scores, int[] from, int[] to, int start, int middle, int end) {
    int left = start;
    int right = middle;
    for (int i = start; i < end; i++) {
      boolean takeRight =
          left == middle || (right < end && scores[from[right]] > scores[from[left]]);
      to[i] = takeRight ? from[right++] : from[left++];
    }
  }
}
