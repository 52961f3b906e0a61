package dev.millrace.cli.cluster;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import picocli.CommandLine.Option;

/** How a client proves that it belongs to a job. */
public final class SecurityFlags {
  @Option(
      names = "--credentials",
      paramLabel = "FOLDER",
      description =
          "The folder with the job's credential, made by 'millrace credentials new'. Default:"
              + " MILLRACE_CREDENTIALS.")
  String credentials;

  /** These settings with what the flag says. */
  Config in(Config before) {
    return credentials == null
        ? before
        : before.withFlag(ClusterSettings.CREDENTIALS, "--credentials", credentials);
  }

  /** The context of a command with this flag; that of the process if it was not given. */
  public Context context(String name) {
    Context process = Context.ofProcess();
    return credentials == null ? process : Context.of(name, in(process.config()));
  }
}
