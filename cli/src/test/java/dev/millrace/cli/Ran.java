package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

/** A command that has run in this process: its exit code and what it said. */
public record Ran(int code, String out, String err) {
  public static Ran millrace(String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code = Millrace.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    return new Ran(code, out.toString(), err.toString());
  }

  public static Ran millrace(List<String> args) {
    return millrace(args.toArray(new String[0]));
  }

  /** Checks that it succeeded without a word on standard error; returns what it printed. */
  public String succeeded() {
    assertEquals(0, code, err);
    assertEquals("", err);
    return out;
  }

  /** Checks that it ended with one sentence about wrong use that has all of {@code parts}. */
  public void wasRefusedFor(String... parts) {
    assertEquals(2, code, err + out);
    assertEquals("", out);
    assertEquals(1, err.lines().count(), err);
    assertTrue(err.startsWith("millrace: "), err);
    assertTrue(err.strip().endsWith("."), err);
    assertFalse(err.contains("Exception"), err);
    for (String part : parts) {
      assertTrue(err.contains(part), () -> "no '" + part + "' in: " + err);
    }
  }
}
