package dev.millrace.cli.project;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import dev.millrace.cli.Ran;
import dev.millrace.job.JobResult;
import dev.millrace.job.Mode;
import dev.millrace.testkit.Slow;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class NewCommandTest {
  /** The pom of this module names Maven's local repository, which the build of Millrace filled. */
  private static final String DOWNLOADED = System.getProperty("test.maven.repository");

  @TempDir Path folder;

  /** Builds it with an empty local repository and without the network, then runs the jar. */
  @Slow
  @Test
  @Timeout(300)
  void aNewProjectBuildsAndTrains() throws Exception {
    assumeJars();
    Path project = folder.resolve("ctr");
    assertTrue(Ran.millrace("new", project.toString()).succeeded().startsWith("Wrote " + project));
    maven(project, "-B", "verify");
    Path jar = project.resolve("target/ctr.jar");
    for (Mode mode : List.of(Mode.ASYNC, Mode.RING)) {
      Path model = folder.resolve("model-" + mode);
      Ran run =
          Ran.millrace(
              "run",
              "--mode",
              mode.toString(),
              "--logs",
              folder.resolve("logs-" + mode).toString(),
              "--",
              "-jar",
              jar.toString(),
              "--data",
              project.resolve("data").toString(),
              "--steps",
              "400",
              "--log-dir",
              model.toString());
      assertEquals(0, run.code(), run.toString());
      Map<String, Object> result =
          JSON.std.mapFrom(Files.readString(model.resolve(JobResult.FILE)));
      double accuracy =
          ((Number) ((Map<?, ?>) result.get("metrics")).get("accuracy")).doubleValue();
      assertTrue(accuracy > .7, mode + ": " + result);
    }
  }

  @Test
  void theUsersCodeIsShort() throws IOException {
    assumeJars();
    Path project = folder.resolve("ctr");
    Ran.millrace("new", project.toString()).succeeded();
    long lines = 0;
    try (Stream<Path> all = Files.walk(project.resolve("src/main"))) {
      for (Path file : all.filter(f -> f.toString().endsWith(".java")).toList()) {
        lines += Files.readAllLines(file).size();
      }
    }
    assertTrue(lines > 50 && lines < 120, lines + " lines");
  }

  @Test
  void nothingIsOverwritten() throws IOException {
    assumeJars();
    Path mine = Files.createDirectory(folder.resolve("mine"));
    Files.writeString(mine.resolve("notes"), "mine");
    Ran.millrace("new", mine.toString()).wasRefusedFor(mine + " is not empty");
    Ran.millrace("new", mine.resolve("notes").toString()).wasRefusedFor("is no folder");
    Ran.millrace("new", folder.resolve("My Project").toString()).wasRefusedFor("'My Project'");
    Files.createDirectory(folder.resolve(".other.unfinished"));
    Ran.millrace("new", folder.resolve("other").toString())
        .wasRefusedFor(".other.unfinished already");
    assertEquals("mine", Files.readString(mine.resolve("notes")));
    assertFalse(Files.exists(folder.resolve("other")));
  }

  private void maven(Path project, String... args) throws Exception {
    Path settings = folder.resolve("settings.xml");
    Files.writeString(
        settings,
        "<settings><mirrors><mirror><id>downloaded</id><mirrorOf>external:*</mirrorOf><url>"
            + Path.of(DOWNLOADED).toUri()
            + "</url></mirror></mirrors></settings>");
    Path log = folder.resolve("maven.log");
    ProcessBuilder b = new ProcessBuilder("mvn");
    b.command().addAll(List.of("-s", settings.toString()));
    b.command().add("-Dmaven.repo.local=" + folder.resolve("m2"));
    b.command().addAll(List.of(args));
    b.directory(project.toFile()).redirectErrorStream(true).redirectOutput(log.toFile());
    Process p = b.start();
    if (!p.waitFor(150, TimeUnit.SECONDS)) {
      p.destroyForcibly();
      throw new AssertionError("Maven has not ended after 150 s: " + Files.readString(log));
    }
    assertEquals(0, p.exitValue(), () -> text(log));
  }

  private static String text(Path log) {
    try {
      return Files.readString(log);
    } catch (IOException e) {
      return e.toString();
    }
  }

  private static void assumeJars() {
    assumeTrue(
        System.getProperty("java.class.path").matches(".*/millrace-job-[^/]*\\.jar.*"),
        "Millrace's modules are not packaged: mvn verify, not mvn test.");
  }
}
