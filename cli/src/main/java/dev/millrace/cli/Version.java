package dev.millrace.cli;

import picocli.CommandLine;

/** What {@code --version} prints. */
final class Version implements CommandLine.IVersionProvider {
  @Override
  public String[] getVersion() {
    String v = Version.class.getPackage().getImplementationVersion();
    return new String[] {
      "millrace " + (v == null ? "development" : v), "Java " + Runtime.version()
    };
  }
}
