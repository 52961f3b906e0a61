package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.examples.Example;
import dev.millrace.storage.checkpoint.BundleWriter;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;

class MillraceTest {
  @TempDir Path dir;

  /** The words of every command there is. */
  static Stream<List<String>> commands() {
    List<List<String>> all = new ArrayList<>();
    addCommands(new CommandLine(new Millrace()), List.of(), all);
    return all.stream();
  }

  private static void addCommands(CommandLine line, List<String> words, List<List<String>> all) {
    all.add(words);
    line.getSubcommands()
        .forEach(
            (name, sub) -> {
              List<String> longer = new ArrayList<>(words);
              longer.add(name);
              addCommands(sub, longer, all);
            });
  }

  @ParameterizedTest
  @MethodSource("commands")
  void helpHasAnExampleAndTheExitCodes(List<String> words) {
    List<String> args = new ArrayList<>(words);
    args.add("--help");
    String help = Ran.millrace(args).succeeded();
    assertTrue(
        help.startsWith(
            String.join(" ", Stream.concat(Stream.of("Usage: millrace"), words.stream()).toList())),
        help);
    assertTrue(
        help.contains("Example") && help.contains("millrace " + String.join(" ", words)), help);
    assertTrue(help.contains("2          wrong use"), help);
    assertTrue(help.lines().allMatch(l -> l.length() <= 100), help);
  }

  @Test
  void versionNamesMillraceAndJava() {
    String version = Ran.millrace("--version").succeeded();
    assertTrue(version.startsWith("millrace "), version);
    assertTrue(version.contains("Java 25"), version);
    assertTrue(!version.contains("$"), version);
  }

  @Test
  void helpIsACommandToo() {
    assertEquals(
        Ran.millrace("train", "mnist", "--help").succeeded(),
        Ran.millrace("help", "train", "mnist").succeeded());
    assertEquals(Ran.millrace("--help").succeeded(), Ran.millrace("help").succeeded());
  }

  @Test
  void withoutACommandTheyAreNamed() {
    Ran.millrace().wasRefusedFor("Say what to do", "train", "server", "millrace --help");
    Ran.millrace("train").wasRefusedFor("Say what to do", "mnist", "millrace train --help");
  }

  @Test
  void unknownCommandsAndFlagsGetASuggestion() {
    Ran.millrace("trian").wasRefusedFor("no command 'trian'. Closest: train. See");
    Ran.millrace("versoin").wasRefusedFor("no command 'versoin'. See");
    Ran.millrace("train", "mnist", "--bacth-size", "3")
        .wasRefusedFor(
            "no flag '--bacth-size'. Closest: --batch-size, --batch_size. See millrace train mnist"
                + " --help.");
    Ran.millrace("train", "mnist", "--bacth-size=3").wasRefusedFor("no flag '--bacth-size'.");
    Ran.millrace("train", "mnist", "more").wasRefusedFor("'more' is one word too many.");
    Ran.millrace("train", "mnist", "--save-every", "0")
        .wasRefusedFor("--save-every is 0; it must be at least 1.");
  }

  @Test
  void wrongValuesNameTheFlag() {
    Ran.millrace("train", "mnist", "--workers", "two").wasRefusedFor("--workers", "'two'");
    Ran.millrace("train", "mnist", "--workers", "0").wasRefusedFor("--workers is 0");
    Ran.millrace("train", "mnist", "--steps", "1e6").wasRefusedFor("'--steps'", "whole number");
    Ran.millrace("train", "mnist", "--learning-rate", "x").wasRefusedFor("'x' is not a number");
    Ran.millrace("train", "mnist", "--model", "resnet").wasRefusedFor("resnet", "softmax", "mlp");
  }

  // README claim: run-examples
  @Test
  void examplesAreListedAndUnknownOnesRefused() {
    String list = Ran.millrace("example").succeeded();
    for (Example e : Example.values()) {
      assertTrue(list.contains(e + " ") && list.contains(e.description()), list);
    }
    Ran.millrace("example", "helo").wasRefusedFor("NAME: 'helo'", "hello", "embedding");
  }

  @Test
  void missingDataFilesAreNamed() {
    Ran.millrace("train", "mnist", "--data-dir", dir.toString())
        .wasRefusedFor(dir.resolve("train-images-idx3-ubyte").toString(), "--data-dir");
  }

  @Test
  void corruptDataFilesAreNamed() throws IOException {
    Path images = dir.resolve("train-images-idx3-ubyte");
    Files.write(images, new byte[] {0, 0, 8, 1, 0, 0, 0, 1, 7});
    Ran.millrace("train", "mnist", "--data-dir", dir.toString())
        .wasRefusedFor(images.toString(), "not an IDX file of bytes in 3 dimensions");
    Files.write(images, new byte[] {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28, 7, 7});
    Ran.millrace("train", "mnist", "--data-dir", dir.toString())
        .wasRefusedFor(images.toString(), "784", "holds 2");
    Files.write(images, new byte[] {0, 0, 8, 3, -1, -1, -1, -1, 0, 0, 0, 28, 0, 0, 0, 28, 7, 7});
    Ran.millrace("train", "mnist", "--data-dir", dir.toString())
        .wasRefusedFor(images.toString(), "damaged");
    Files.delete(images);
    Files.write(dir.resolve("train-images-idx3-ubyte.gz"), new byte[] {1, 2, 3});
    Ran.millrace("train", "mnist", "--data-dir", dir.toString())
        .wasRefusedFor(images + ".gz is damaged");
  }

  @Test
  void fewerImagesThanABatchAreNamed() throws IOException {
    for (String part : List.of("train", "t10k")) {
      byte[] images = new byte[16 + 2 * 784];
      System.arraycopy(
          new byte[] {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28}, 0, images, 0, 16);
      Files.write(dir.resolve(part + "-images-idx3-ubyte"), images);
      Files.write(
          dir.resolve(part + "-labels-idx1-ubyte"), new byte[] {0, 0, 8, 1, 0, 0, 0, 2, 3, 4});
    }
    Ran.millrace("train", "mnist", "--data-dir", dir.toString())
        .wasRefusedFor("batch of 100", "the 2 images");
    // As few as there are can be trained on, and tested with.
    String out =
        Ran.millrace(
                "train",
                "mnist",
                "--mode",
                "local",
                "--model",
                "softmax",
                "--steps",
                "3",
                "--batch-size",
                "2",
                "--data-dir",
                dir.toString(),
                "--log-dir",
                dir.resolve("logs").toString())
            .out();
    assertTrue(out.matches("(?s).*test accuracy (0|50|100)\\.00 %.*"), out);
  }

  @Test
  void thereMustBeSomethingToGoOnFrom() {
    Path empty = dir.resolve("empty");
    Ran.millrace("train", "mnist", "--resume", "--log-dir", empty.toString())
        .wasRefusedFor(empty.toString(), "no checkpoint", "--resume");
    assertTrue(Files.notExists(empty), "it was made");
    Ran.millrace("train", "mnist", "--resume")
        .wasRefusedFor("--resume goes on from an earlier run", "--log-dir");
  }

  @Test
  void flagsThatDoNotGoTogetherAreRefused() {
    Ran.millrace("train", "mnist", "--mode", "local", "--ps", "2")
        .wasRefusedFor("--mode local", "leave out --ps");
    Ran.millrace("train", "mnist", "--mode", "ring", "--ps", "2")
        .wasRefusedFor("--mode ring", "leave out --ps");
    Ran.millrace("train", "mnist", "--learning-rate", "NaN").wasRefusedFor("--learning-rate");
    Ran.millrace("train", "mnist", "--learning-rate", "0").wasRefusedFor("--learning-rate");
    Ran.millrace("train", "mnist", "--staleness-bound", "-1").wasRefusedFor("--staleness-bound");
    Ran.millrace("train", "mnist", "--step-timeout", "-1").wasRefusedFor("--step-timeout");
    Ran.millrace("k8s", "--name", "a", "--image", "b", "--", "train", "mnist", "--mode", "ring")
        .wasRefusedFor("--mode ring", "--mode async");
  }

  @Test
  void workersOfAClusterAreCountedThere() {
    Ran.millrace(
            "train",
            "mnist",
            "--mode",
            "sync",
            "--backup-workers",
            "3",
            "--ps_hosts",
            "localhost:1",
            "--worker_hosts",
            "localhost:2,localhost:3,localhost:4",
            "--job_name",
            "worker",
            "--task_index",
            "0")
        .wasRefusedFor("--backup-workers is 3", "of the 3 workers");
  }

  @Test
  void clustersThatCannotTrainAreRefused() {
    train("--cluster", "worker=localhost:1", "--job_name", "worker", "--task_index", "0")
        .wasRefusedFor("[worker]", "needs ps and worker", "--mode ring");
    String[] jobs = {"--ps_hosts", "localhost:1", "--worker_hosts", "localhost:2"};
    train(
            jobs,
            "--cluster",
            "chief=localhost:3,localhost:4",
            "--job_name",
            "chief",
            "--task_index",
            "0")
        .wasRefusedFor("one chief", "chief/0, chief/1");
    train(jobs, "--cluster", "reader=localhost:3", "--job_name", "reader", "--task_index", "0")
        .wasRefusedFor("'reader'", "evaluator");
    train(jobs).wasRefusedFor("which task", "--job_name");
    train(jobs, "--mode", "ring").wasRefusedFor("--mode ring", "--ps_hosts", "launch");
    train(jobs, "--mode", "local").wasRefusedFor("--mode local", "leave out --ps_hosts.");
    train(jobs, "--job_name", "evaluator", "--task_index", "0")
        .wasRefusedFor("evaluator", "--log-dir");
  }

  private static Ran train(String... flags) {
    return train(flags, new String[0]);
  }

  private static Ran train(String[] flags, String... more) {
    List<String> args = new ArrayList<>(List.of("train", "mnist"));
    args.addAll(List.of(flags));
    args.addAll(List.of(more));
    return Ran.millrace(args);
  }

  @Test
  void wrongTfConfigIsNamedAndHelpStillWorks() throws Exception {
    Map<String, String> wrong = Map.of("TF_CONFIG", "{\"cluster\": 3}");
    try (RunningMillrace m = RunningMillrace.start(wrong, "train", "mnist")) {
      assertEquals(2, m.awaitExit(), m.err());
      assertTrue(m.err().startsWith("millrace: TF_CONFIG cannot be used"), m.err());
      assertEquals(1, m.err().lines().count(), m.err());
    }
    try (RunningMillrace m = RunningMillrace.start(wrong, "--help")) {
      assertEquals(0, m.awaitExit(), m.err());
    }
  }

  @Test
  void folderThatIsAFileIsRefused() throws IOException {
    Path file = Files.createFile(dir.resolve("file"));
    Ran.millrace("train", "mnist", "--log-dir", file.toString())
        .wasRefusedFor("--log-dir " + file, "is a file");
    Ran.millrace("graph", file.toString()).wasRefusedFor(file.toString(), "no node");
  }

  @Test
  void trainingThatIsDoneIsNotResumed() {
    try (BundleWriter writer = new BundleWriter(dir.resolve("model.ckpt-500"));
        Tensor step = Tensor.scalar(500L)) {
      writer.add("global_step", step);
      writer.finish();
    }
    String[] resume = {"train", "mnist", "--resume", "--steps", "500", "--log-dir", dir.toString()};
    Ran.millrace(resume).wasRefusedFor("model.ckpt-500", "500 steps", "--steps");
    // Found though no state file names it: it would be gone on from, and saved over.
    Ran.millrace("train", "mnist", "--log-dir", dir.toString())
        .wasRefusedFor("model.ckpt-500", "--resume");
  }

  @Test
  void checkpointOfAnotherModelIsNotGoneOnFrom() {
    try (BundleWriter writer = new BundleWriter(dir.resolve("model.ckpt-5"));
        Tensor step = Tensor.scalar(5L)) {
      writer.add("global_step", step);
      writer.finish();
    }
    Ran.millrace("train", "mnist", "--resume", "--log-dir", dir.toString())
        .wasRefusedFor("model.ckpt-5 is of another model", "missing");
  }

  @Test
  void aJobHasAtLeastOneRank() {
    Ran.millrace("launch", "-np", "0", "--", "true").wasRefusedFor("-np is 0");
    Ran.millrace("launch", "-np", "x", "--", "true").wasRefusedFor("'-np'", "whole number");
    Ran.millrace("launch", "-np", "1", "--", "/no/such/program")
        .wasRefusedFor("Cannot start '/no/such/program': there is no such file or program.");
    Ran.millrace("launch", "--hostfile", "/no/such/hosts", "--", "true")
        .wasRefusedFor("/no/such/hosts: no such file");
  }

  @Test
  void aPortInUseIsNamed() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      String address = "127.0.0.1:" + taken.getLocalPort();
      server("--ps_hosts", address, "--job_name", "ps", "--task_index", "0")
          .wasRefusedFor("ps/0", address, "already in use");
    }
  }

  @Test
  void aTaskBeyondTheClusterIsNamed() {
    server("--ps_hosts", "localhost:0", "--job_name", "ps", "--task_index", "3")
        .wasRefusedFor("'ps'", "no task 3");
    server("--ps_hosts", "localhost:0", "--job_name", "worker", "--task_index", "0")
        .wasRefusedFor("no job 'worker'");
    server("--ps_hosts", "localhost", "--job_name", "ps", "--task_index", "0")
        .wasRefusedFor("'localhost'", "host:port");
    server("--ps_hosts", "localhost:7,localhost:7", "--job_name", "ps", "--task_index", "0")
        .wasRefusedFor("ps/0 and ps/1 have the same address, localhost:7");
    server("--ps_hosts", "localhost:0").wasRefusedFor("--job_name", "--task_index");
    server("--job_name", "ps", "--task_index", "0").wasRefusedFor("--ps_hosts");
    server("--cluster", "ps", "--job_name", "ps", "--task_index", "0")
        .wasRefusedFor("for option '--cluster'", "KEY=VALUE");
    Ran.millrace("status", "--ps_hosts", "localhost:1", "--timeout", "0")
        .wasRefusedFor("--timeout is 0");
    Ran.millrace("doctor", "--timeout", "-1").wasRefusedFor("--timeout is -1");
    Ran.millrace("events", dir.toString(), "--width", "0").wasRefusedFor("--width is 0");
  }

  @Test
  void aHostThatDoesNotResolveIsNamed() {
    server("--ps_hosts", "no-such-host.invalid:2222", "--job_name", "ps", "--task_index", "0")
        .wasRefusedFor("no-such-host.invalid:2222", "does not resolve");
  }

  private static Ran server(String... flags) {
    List<String> args = new ArrayList<>(List.of("server"));
    args.addAll(List.of(flags));
    return Ran.millrace(args);
  }

  @Test
  void theStackTraceIsShownWhenAskedFor() {
    Ran r = Ran.millrace("train", "mnist", "--verbose", "--data-dir", dir.toString());
    assertEquals(2, r.code());
    assertTrue(r.err().contains("\tat dev.millrace."), r.err());
  }

  @Test
  void theCompletionScriptIsGoodBash() throws Exception {
    String script = Ran.millrace("completion").succeeded();
    assertTrue(script.contains("--learning-rate"), script);
    Process bash = new ProcessBuilder("bash", "-n").redirectErrorStream(true).start();
    bash.getOutputStream().write(script.getBytes());
    bash.getOutputStream().close();
    String said = new String(bash.getInputStream().readAllBytes());
    assertTrue(bash.waitFor(20, TimeUnit.SECONDS), "bash -n has not ended");
    assertEquals(0, bash.exitValue(), said);
  }
}
