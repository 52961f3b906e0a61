package dev.millrace.cli.doctor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What {@code doctor} found, in the order in which it looked. */
final class Diagnosis {
  /** How bad a finding is. */
  enum Verdict {
    OK,
    NOTE,
    BAD
  }

  /** One thing that was looked at. */
  record Finding(String subject, Verdict verdict, String text) {
    Map<String, Object> facts() {
      Map<String, Object> f = new LinkedHashMap<>();
      f.put("subject", subject);
      f.put("verdict", verdict.name().toLowerCase(java.util.Locale.ROOT));
      f.put("text", text);
      return f;
    }
  }

  private final List<Finding> findings = new ArrayList<>();

  void ok(String subject, String format, Object... args) {
    findings.add(new Finding(subject, Verdict.OK, String.format(format, args)));
  }

  /** Something worth knowing that does not stop a job. */
  void note(String subject, String format, Object... args) {
    findings.add(new Finding(subject, Verdict.NOTE, String.format(format, args)));
  }

  /** Something a job would fail at. */
  void bad(String subject, String format, Object... args) {
    findings.add(new Finding(subject, Verdict.BAD, String.format(format, args)));
  }

  List<Finding> findings() {
    return findings;
  }

  boolean isHealthy() {
    return findings.stream().noneMatch(f -> f.verdict == Verdict.BAD);
  }
}
