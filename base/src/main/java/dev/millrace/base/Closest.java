package dev.millrace.base;

import java.util.Collection;
import java.util.Comparator;

/** Finds the names a person may have meant. */
public final class Closest {
  private Closest() {}

  /** {@code " Closest: A, B."} for the names least different from {@code wanted}, or nothing. */
  public static String hint(String wanted, Collection<String> names) {
    int limit = Math.max(2, wanted.length() / 3);
    record Candidate(String name, int distance) {}
    String close =
        names.stream()
            .filter(n -> Math.abs(n.length() - wanted.length()) <= limit)
            .map(n -> new Candidate(n, distance(wanted, n, limit)))
            .filter(c -> c.distance() <= limit)
            .sorted(Comparator.comparingInt(Candidate::distance).thenComparing(Candidate::name))
            .limit(3)
            .map(Candidate::name)
            .reduce((a, b) -> a + ", " + b)
            .orElse("");
    return close.isEmpty() ? "" : " Closest: " + close + ".";
  }

  /** Edit distance where swapped neighbours count once; anything above {@code limit} is cut. */
  private static int distance(String a, String b, int limit) {
    int[][] d = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          d[i][j] = i + j;
          continue;
        }
        int same = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
        d[i][j] = Math.min(d[i - 1][j - 1] + same, Math.min(d[i - 1][j], d[i][j - 1]) + 1);
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
        }
      }
    }
    return Math.min(d[a.length()][b.length()], limit + 1);
  }
}
