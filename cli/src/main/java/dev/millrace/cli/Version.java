package dev.millrace.cli;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import picocli.CommandLine;

/** Which Millrace this is. */
final class Version implements CommandLine.IVersionProvider {
  /** The version of this build; {@code development} if it was not built by Maven. */
  static String of() {
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

  @Override
  public String[] getVersion() {
    return new String[] {"millrace " + of(), "Java " + Runtime.version()};
  }
}
