package dev.millrace.cli.text;

import dev.millrace.base.Version;
import picocli.CommandLine;

/** What {@code --version} prints. */
public final class VersionLines implements CommandLine.IVersionProvider {
  @Override
  public String[] getVersion() {
    return new String[] {"millrace " + Version.own(), "Java " + Runtime.version()};
  }
}
