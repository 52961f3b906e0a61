package dev.millrace.interop.allreduce;

import dev.millrace.base.Timers;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Another library's all-reduce: a small program of our own around it, compiled here and started
 * anew for every round. It prints a line {@code bytes seconds}.
 */
final class PeerProgram implements AllReduceContender {
  private static final String MPIRUN = "mpirun --allow-run-as-root --oversubscribe -np {ranks} ";

  private final String name;
  private final String command;

  private PeerProgram(String name, String command) {
    this.name = name;
    this.command = command;
  }

  /** The peers this machine has the tools for; {@code absent} is told of the others. */
  static List<AllReduceContender> all(Path folder, int ranks, Consumer<String> absent)
      throws IOException {
    List<AllReduceContender> peers = new ArrayList<>();
    String np = MPIRUN.replace("{ranks}", Integer.toString(ranks));
    Path mpi = compile("openmpi.c", folder, "mpicc -O3 -march=native -o {out} {in}");
    if (mpi == null) {
      absent.accept("OpenMPI (apt install openmpi-bin libopenmpi-dev brings it)");
    } else {
      String run = mpi + " {seconds} {bytes}";
      peers.add(new PeerProgram("OpenMPI, shared memory", np + run));
      peers.add(new PeerProgram("OpenMPI, TCP", np + "--mca pml ob1 --mca btl self,tcp " + run));
    }
    String flags = "g++ -O3 -march=native -std=c++17 -o {out} {in} -lgloo -lpthread";
    Path gloo = compile("gloo.cc", folder, flags);
    if (gloo == null) {
      absent.accept("Gloo (apt install libgloo-dev g++ brings it)");
    } else {
      for (String algorithm : List.of("ring", "halving")) {
        String meet = "d=$(mktemp -d -p " + folder + ") && ";
        String run = gloo + " " + algorithm + " " + ranks + " $d {seconds} {bytes}";
        peers.add(new PeerProgram("Gloo, " + algorithm + ", TCP", meet + run));
      }
    }
    return peers;
  }

  /** The program, or null where it cannot be made. */
  private static Path compile(String source, Path folder, String compiler) throws IOException {
    Path in = folder.resolve(source);
    Path out = folder.resolve(source.substring(0, source.indexOf('.')));
    String resource = "/dev/millrace/interop/allreduce/" + source;
    try (InputStream s = PeerProgram.class.getResourceAsStream(resource)) {
      Files.copy(s, in, StandardCopyOption.REPLACE_EXISTING);
    }
    String line = compiler.replace("{in}", in.toString()).replace("{out}", out.toString());
    Process p = new ProcessBuilder("sh", "-c", line).redirectErrorStream(true).start();
    try (Stream<String> lines = p.inputReader().lines()) {
      lines.forEach(said -> {});
    }
    return await(p, 120) == 0 ? out : null;
  }

  private static int await(Process p, int seconds) throws IOException {
    try {
      if (Timers.system().join(p, TimeUnit.SECONDS.toNanos(seconds))) {
        return p.exitValue();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    p.destroyForcibly();
    throw new IOException("no end within " + seconds + " s: " + p.info().commandLine().orElse("?"));
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public double run(long bytes, double seconds) throws IOException {
    String line = command.replace("{seconds}", "" + seconds).replace("{bytes}", "" + bytes);
    Process p =
        new ProcessBuilder("sh", "-c", line).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String said;
    try (BufferedReader out = p.inputReader()) {
      said = out.readLine();
      while (out.readLine() != null) {}
    }
    if (await(p, 30) != 0 || said == null) {
      throw new IOException(name + " failed: " + line);
    }
    return Double.parseDouble(said.strip().split(" ")[1]);
  }

  @Override
  public void close() {}
}
