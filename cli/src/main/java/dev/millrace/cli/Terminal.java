package dev.millrace.cli;

/** The terminal this process prints to, if it does. */
final class Terminal {
  private Terminal() {}

  /** Whether lines can be written over, and a person looks at them. */
  static boolean isThere() {
    return System.console() != null
        && System.console().isTerminal()
        && !"dumb".equals(System.getenv("TERM"));
  }

  /** Whether it is to have colours: users say no by the variable NO_COLOR. */
  static boolean hasColours() {
    String no = System.getenv("NO_COLOR");
    return isThere() && (no == null || no.isEmpty());
  }
}
