package dev.millrace.cli.launch;

import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.net.Credential;
import dev.millrace.net.JobAuthority;
import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine.Option;

/**
 * The credentials of the tasks that a launcher starts. Without flags it makes an authority for each
 * job, which exists in its memory only, and gives every task a credential with the task's name.
 * They travel in the environment, which no other user can read.
 */
public final class JobCredentials {
  @Option(
      names = "--credentials",
      paramLabel = "FOLDER",
      description =
          "The job's authority, made by 'millrace credentials new'; then clients with a credential"
              + " of it can reach the tasks. Default: a new one that ends with the job.")
  String folder;

  @Option(
      names = "--insecure",
      description = "Give the tasks no credentials: everybody who can reach them is admitted.")
  boolean insecure;

  private JobAuthority own;

  /** Without flags, until they are parsed. */
  public JobCredentials() {}

  /** Those with the values of the two flags. */
  public JobCredentials(String folder, boolean insecure) {
    this.folder = folder;
    this.insecure = insecure;
  }

  /** The variables that give a task its credential. */
  Map<String, String> variables(String task) {
    Map<String, String> all = new LinkedHashMap<>();
    Config settings = Config.ofProcess();
    if (insecure || settings.get(ClusterSettings.INSECURE)) {
      all.put(ClusterSettings.INSECURE.variable(), "true");
      // What this process has itself would be inherited.
      all.put(ClusterSettings.CREDENTIALS.variable(), "");
      return all;
    }
    String given =
        folder != null ? folder : settings.find(ClusterSettings.CREDENTIALS).orElse(null);
    all.put(
        ClusterSettings.CREDENTIALS.variable(),
        given == null
            ? authority().issue(task).toText()
            : Credential.open(absolute(given), task).toText());
    return all;
  }

  /** The context of a client of the job: the tasks on other hosts admit it too. */
  Context client(String name) {
    Context process = Context.ofProcess();
    String own = variables(JobAuthority.CLIENT).get(ClusterSettings.CREDENTIALS.variable());
    return own.isEmpty()
        ? process
        : Context.of(name, process.config().with(ClusterSettings.CREDENTIALS, own));
  }

  private static String absolute(String folderOrText) {
    return Credential.isText(folderOrText)
        ? folderOrText
        : ProcessEnvironment.workingFolder().resolve(folderOrText).toString();
  }

  private synchronized JobAuthority authority() {
    if (own == null) {
      own = JobAuthority.create(JobAuthority.OF_A_JOB);
    }
    return own;
  }
}
