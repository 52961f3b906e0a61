package dev.millrace.collective;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** One operation as far as it has been submitted: by whom, and as what. */
final class Submission {
  final Request.Key key;
  final long sinceNanos;
  final TreeMap<Integer, Request> byRank = new TreeMap<>();
  boolean warned;

  Submission(Request.Key key, long sinceNanos) {
    this.key = key;
    this.sinceNanos = sinceNanos;
  }

  Request first() {
    return byRank.firstEntry().getValue();
  }

  boolean agrees() {
    return byRank.values().stream().allMatch(r -> r.agreesWith(first()));
  }

  /** Who has submitted what, with ranks of one mind together. */
  String describe() {
    Map<String, List<Integer>> byText = new LinkedHashMap<>();
    byRank.forEach(
        (rank, r) -> byText.computeIfAbsent(r.describe(), d -> new ArrayList<>()).add(rank));
    return byText.entrySet().stream()
        .map(e -> ranks(e.getValue()) + ": " + e.getKey())
        .collect(Collectors.joining("; "));
  }

  /** "rank 1" or "ranks 1, 2". */
  static String ranks(List<Integer> ranks) {
    String list = ranks.stream().map(String::valueOf).collect(Collectors.joining(", "));
    return (ranks.size() == 1 ? "rank " : "ranks ") + list;
  }
}
