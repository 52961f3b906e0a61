package dev.millrace.cli.project;

import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Writes a project of the user's own. */
@Command(
    name = "new",
    description = "Write a Maven project with a model of your own: code, a test and data.",
    footer = {"", "Example:", "  millrace new ctr"})
public final class NewCommand implements Callable<Integer> {
  @Spec CommandSpec spec;

  @Parameters(
      paramLabel = "FOLDER",
      description = "Where to write it: a new folder, or an empty one. Its name names the project.")
  Path folder;

  @Override
  public Integer call() {
    Path target = ProcessEnvironment.workingFolder().resolve(folder).normalize();
    String name = String.valueOf(target.getFileName());
    if (!name.matches("[a-z][a-z0-9-]*")) {
      throw MillraceException.invalid(
          "The project would be named '%s', after its folder; a name has small letters, digits and"
              + " '-', and begins with a letter.",
          name);
    }
    MillraceJars jars = MillraceJars.on(ProcessEnvironment.classPath());
    new Project(name, jars).write(target);
    spec.commandLine()
        .getOut()
        .printf("Wrote %s. Build it with: cd %s && mvn -B verify%n", target, folder);
    return 0;
  }
}
