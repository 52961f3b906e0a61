package dev.millrace.base;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** Which Millrace this is. */
public final class Version {
  private static final String OWN = read();

  private Version() {}

  /** The version of this build; {@code development} if it was not built by Maven. */
  public static String own() {
    return OWN;
  }

  private static String read() {
    Properties p = new Properties();
    try (InputStream in = Version.class.getResourceAsStream("version.properties")) {
      if (in != null) {
        p.load(in);
      }
    } catch (IOException e) {
      // As if there were no file.
    }
    String v = p.getProperty("version", "${");
    return v.startsWith("${") ? "development" : v;
  }
}
