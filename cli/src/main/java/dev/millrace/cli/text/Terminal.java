package dev.millrace.cli.text;

import dev.millrace.base.config.Config;
import dev.millrace.base.config.ForeignVariables;

/** The terminal this process prints to, if it does. */
public final class Terminal {
  private Terminal() {}

  /** Whether lines can be written over, and a person looks at them. */
  public static boolean isThere() {
    return System.console() != null
        && System.console().isTerminal()
        && !Config.ofProcess().find(ForeignVariables.TERM).orElse("").equals("dumb");
  }

  /** Whether it is to have colours: users say no by the variable NO_COLOR. */
  public static boolean hasColours() {
    return isThere() && Config.ofProcess().find(ForeignVariables.NO_COLOR).isEmpty();
  }
}
