package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import dev.millrace.cli.text.CommandOutput;
import dev.millrace.net.Credential;
import dev.millrace.net.JobAuthority;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Makes and shows what the processes of a job prove themselves with. */
@Command(
    name = "credentials",
    description = "Make and show the credentials by which the processes of a job know each other.",
    subcommands = {
      CredentialsCommand.New.class,
      CredentialsCommand.Issue.class,
      CredentialsCommand.Show.class
    },
    footer = {
      "",
      "A folder with a credential has tls.crt, tls.key and ca.crt, as cert-manager names them;",
      "SPIFFE's svid.pem, svid_key.pem and svid_bundle.pem are understood too. The folder that"
          + " 'new'",
      "makes also has ca.key, with which every task of a job can be given a credential: keep it to",
      "yourself, and give hosts that you trust less only what 'issue' makes.",
      "",
      "Examples:",
      "  millrace credentials new job.credentials",
      "  millrace credentials issue job.credentials ps/0 worker/0 worker/1",
      "  millrace credentials show job.credentials",
    })
public final class CredentialsCommand implements Callable<Integer> {
  @Override
  public Integer call() {
    throw MillraceException.invalid(
        "Say what to do: credentials new FOLDER, credentials issue FOLDER TASK..., or credentials"
            + " show FOLDER.");
  }

  /** The command {@code credentials new}. */
  @Command(
      name = "new",
      description = "Make the authority of a new job, and a client's credential.")
  public static final class New implements Callable<Integer> {
    @Mixin CommandOutput report;

    @Parameters(paramLabel = "FOLDER", description = "A folder that does not exist yet.")
    Path folder;

    @Option(
        names = "--days",
        paramLabel = "N",
        description = "How long it is valid. Default: ${DEFAULT-VALUE}")
    int days = (int) JobAuthority.OF_A_PERSON.toDays();

    @Override
    public Integer call() {
      JobAuthority job = Credential.newAuthority(folder, valid(days));
      print(
          report,
          facts(Credential.in(folder), folder),
          List.of(
              "Made the authority of "
                  + job.job()
                  + " in "
                  + folder
                  + ", valid for "
                  + days
                  + " days. Only you can read it.",
              "Use it with --credentials " + folder + " for every task and client of the job."));
      return 0;
    }
  }

  /** The command {@code credentials issue}. */
  @Command(
      name = "issue",
      description = "Make credentials of tasks, signed by the job's authority.")
  public static final class Issue implements Callable<Integer> {
    @Mixin CommandOutput report;

    @Parameters(index = "0", paramLabel = "FOLDER", description = "What 'credentials new' made.")
    Path folder;

    @Parameters(
        index = "1..*",
        arity = "1..*",
        paramLabel = "TASK",
        description = "Such as ps/0; or 'client', for a process that is no task.")
    List<String> tasks;

    @Option(
        names = "--days",
        paramLabel = "N",
        description = "How long they are valid. Default: ${DEFAULT-VALUE}")
    int days = (int) JobAuthority.OF_A_JOB.toDays();

    @Override
    public Integer call() {
      JobAuthority job = Credential.authority(folder);
      for (String task : tasks) {
        Path to = folder.resolve(task.replace('/', '-'));
        Credential made = job.issue(task, valid(days));
        made.write(to);
        print(
            report, facts(made, to), List.of("Made the credential of " + task + " in " + to + "."));
      }
      return 0;
    }
  }

  /** The command {@code credentials show}. */
  @Command(name = "show", description = "Show whose credential is in a folder, and until when.")
  public static final class Show implements Callable<Integer> {
    @Mixin CommandOutput report;

    @Parameters(paramLabel = "FOLDER", description = "The folder with the credential.")
    Path folder;

    @Override
    public Integer call() {
      Credential c = Credential.in(folder);
      print(
          report,
          facts(c, folder),
          List.of(
              "job          " + c.job(),
              "name         " + c.identity(),
              "valid until  " + c.validUntil()));
      return 0;
    }
  }

  private static void print(CommandOutput report, Map<String, Object> facts, List<String> lines) {
    if (report.json) {
      report.json(facts);
    } else {
      lines.forEach(report.out()::println);
    }
  }

  private static Duration valid(int days) {
    if (days < 1) {
      throw MillraceException.invalid("--days is %d; it must be at least 1.", days);
    }
    return Duration.ofDays(days);
  }

  private static Map<String, Object> facts(Credential c, Path folder) {
    Map<String, Object> f = new LinkedHashMap<>();
    f.put("folder", folder.toString());
    f.put("job", c.job());
    f.put("name", c.identity().toString());
    f.put("validUntil", c.validUntil().toString());
    return f;
  }
}
