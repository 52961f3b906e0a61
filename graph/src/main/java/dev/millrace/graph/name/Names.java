package dev.millrace.graph.name;

import java.util.regex.Pattern;

/** The rule for node names. */
public final class Names {
  private static final Pattern VALID = Pattern.compile("[A-Za-z0-9.][A-Za-z0-9_.\\\\/>-]*");

  private Names() {}

  /** Whether a client may call a node this. */
  public static boolean isValid(String name) {
    return VALID.matcher(name).matches();
  }
}
