package dev.millrace.cli.cluster;

import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.RankSettings;
import dev.millrace.base.context.Context;
import dev.millrace.cli.launch.JobCredentials;
import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Where a task listens and whom it admits. */
public final class AdmissionFlags {
  @Mixin SecurityFlags security;

  @Option(
      names = "--bind",
      paramLabel = "ADDRESS",
      description =
          "The address to listen on; 0.0.0.0 for all. Default: that of the task's host name.")
  String bind;

  @Option(
      names = "--insecure",
      description =
          "Admit everybody who can reach the port, from other hosts too, without a credential.")
  boolean insecure;

  @Option(
      names = "--auth",
      description =
          "On a loopback address, refuse other users of this host; without a credential,"
              + " TensorFlow's clients too.")
  boolean auth;

  @Option(
      names = "--files",
      paramLabel = "FOLDER",
      description =
          "A folder whose files graphs on this task may use; repeat it for more. 'millrace server'"
              + " permits its working folder and the one for temporary files, but no names that"
              + " begin with a dot.")
  List<Path> files = List.of();

  /** The credentials of the tasks of a job that a command with these flags starts. */
  public JobCredentials ofJob() {
    return new JobCredentials(security.credentials, insecure);
  }

  /** The process's context with these flags; itself if there is none. */
  public Context context(String name) {
    if (security.credentials == null && bind == null && !insecure && !auth && files.isEmpty()) {
      return Context.ofProcess();
    }
    Config c = security.in(Context.ofProcess().config());
    if (bind != null) {
      c = c.withFlag(RankSettings.BIND, "--bind", bind);
    }
    if (insecure) {
      c = c.withFlag(ClusterSettings.INSECURE, "--insecure", "true");
    }
    if (auth) {
      c = c.withFlag(ClusterSettings.AUTH, "--auth", "true");
    }
    if (!files.isEmpty()) {
      c = c.withFlag(ClusterSettings.FILES, "--files", joined(files));
    }
    return Context.of(name, c);
  }

  /** The context of a task that runs graphs of other processes only. */
  Context serverContext() {
    Context given = context("server");
    if (given.config().find(ClusterSettings.FILES).isPresent()) {
      return given;
    }
    return Context.of(
        "server",
        given
            .config()
            .with(
                ClusterSettings.FILES,
                joined(
                    List.of(
                        ProcessEnvironment.workingFolder(),
                        ProcessEnvironment.temporaryFolder()))));
  }

  private static String joined(List<Path> folders) {
    return folders.stream()
        .map(f -> f.toAbsolutePath().toString())
        .collect(Collectors.joining(File.pathSeparator));
  }
}
