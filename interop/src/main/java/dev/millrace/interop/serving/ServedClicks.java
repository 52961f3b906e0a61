package dev.millrace.interop.serving;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.interop.ChildProcess;
import dev.millrace.interop.PythonTensorFlow;
import dev.millrace.interop.bench.Contender;
import dev.millrace.interop.bench.ContenderProcess;
import dev.millrace.interop.bench.Sample;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Servers of the click model in processes of their own, and what asks them for single rows: {@code
 * wrk} over HTTP, and {@link GrpcCalls}. Both sides share the processors.
 */
public final class ServedClicks {
  /** How often a version changes in a turn, where versions change. */
  public static final int CHANGES = 10;

  private static final Duration START = Duration.ofMinutes(2);
  private static final Duration LATE = Duration.ofSeconds(30);
  private static final int CONNECTIONS = 16;
  private static final Pattern RATE = Pattern.compile("Requests/sec:\\s*([0-9.]+)");
  private static final Pattern TIME = Pattern.compile("(50|99)%\\s+([0-9.]+)(us|ms|s)");
  private static final List<String> SIGNS = List.of("Non-2xx", "Socket errors");

  private ServedClicks() {}

  /** Single rows in a program. */
  public static Contender predictor(Path folder, String kind) {
    List<String> arguments = List.of(version(folder, 1).toString(), kind);
    return ContenderProcess.start(List.of("-Xmx128m"), PredictorCalls.class, arguments);
  }

  /** The version's folder below {@code folder}; the first call writes version 1. */
  private static Path version(Path folder, int number) {
    Path first = folder.resolve(ClickExport.MODEL).resolve("1");
    if (!Files.exists(first)) {
      ClickExport.write(first);
    }
    return first.resolveSibling(Integer.toString(number));
  }

  /** Millrace's server over HTTP. */
  public static Contender rest(Path folder) {
    Path models = version(folder, 1).getParent();
    ChildProcess server = server(models);
    return new WrkLoad("Millrace, REST", folder, port(server, 0), server, null);
  }

  /** The same, while the version of the model changes. */
  public static Contender changing(Path folder) {
    Path models = copy(version(folder, 1), folder.resolve("changing").resolve("1")).getParent();
    ChildProcess server = server(models);
    String name = "Millrace, REST, " + CHANGES + " new versions";
    return new WrkLoad(name, folder, port(server, 0), server, models);
  }

  /** Millrace's server over gRPC. */
  public static Contender grpc(Path folder) {
    ChildProcess server = server(version(folder, 1).getParent());
    ContenderProcess calls =
        ContenderProcess.start(GrpcCalls.class, List.of(Integer.toString(port(server, 1))));
    return new Contender() {
      @Override
      public String name() {
        return "Millrace, gRPC";
      }

      @Override
      public Sample run(Duration duration) {
        return calls.run(duration);
      }

      @Override
      public void close() {
        calls.close();
        server.close();
      }
    };
  }

  /** TensorFlow's C++ runtime behind a minimal server over HTTP. */
  public static Contender tensorFlow(Path folder) {
    PythonTensorFlow python = PythonTensorFlow.find();
    String source = PythonTensorFlow.resource("serving_peer.cc").toString();
    List<String> arguments = List.of(source, version(folder, 1).toString());
    ChildProcess server =
        ChildProcess.start("TensorFlow", python.command("serving_peer.py", arguments), Map.of());
    String name = "TensorFlow " + python.version() + " in C++, REST";
    return new WrkLoad(name, folder, port(server, 0), server, null);
  }

  private static ChildProcess server(Path models) {
    return ChildProcess.start("server", ClickServer.class, List.of(models.toString()));
  }

  /** The ports, once they are told; those of the same server again. */
  private static int port(ChildProcess server, int which) {
    try {
      return Integer.parseInt(server.receive(START).split(" ")[which]);
    } catch (RuntimeException | Error e) {
      server.close();
      throw e;
    }
  }

  private static Path copy(Path from, Path to) {
    // Under another name first: a server must not see a part of it.
    Path part = to.resolveSibling("part-" + to.getFileName());
    try (Stream<Path> files = Files.walk(from)) {
      Files.createDirectories(to.getParent());
      for (Path f : files.toList()) {
        Files.copy(f, part.resolve(from.relativize(f).toString()));
      }
      return Files.move(part, to);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A server that {@code wrk} asks. */
  private static final class WrkLoad implements Contender {
    private final String name;
    private final Path script;
    private final int port;
    private final ChildProcess server;

    /** Where versions are added; null for nowhere. */
    private final Path versions;

    private int newest = 1;

    WrkLoad(String name, Path folder, int port, ChildProcess server, Path versions) {
      this.name = name;
      this.port = port;
      this.server = server;
      this.versions = versions;
      script = folder.resolve("post.lua");
      try {
        Files.writeString(
            script,
            "wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\nwrk.body = [["
                + ClickExport.body()
                + "]]\n");
        wrk(Duration.ofSeconds(1));
      } catch (IOException e) {
        server.close();
        throw MillraceException.failedPrecondition(
            "wrk cannot be started, so no server is asked over HTTP: apt install wrk.");
      } catch (RuntimeException e) {
        server.close();
        throw e;
      }
    }

    private Process wrk(Duration duration) throws IOException {
      String seconds = Long.toString(Math.max(1, duration.toSeconds()));
      List<String> command =
          new ArrayList<>(List.of("wrk", "-t1", "-c" + CONNECTIONS, "--latency"));
      command.addAll(List.of("-d" + seconds + "s", "-s" + script));
      command.add("http://127.0.0.1:" + port + "/v1/models/" + ClickExport.MODEL + ":predict");
      return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public Sample run(Duration duration) {
      try {
        Process p = wrk(duration);
        for (int i = 0; versions != null && i < CHANGES; i++) {
          Timers.system().sleep(duration.toNanos() / (CHANGES + 1));
          copy(versions.resolve("1"), versions.resolve(Integer.toString(++newest)));
        }
        if (!p.waitFor(duration.plus(LATE).toSeconds(), TimeUnit.SECONDS)) {
          p.destroyForcibly();
          throw new MillraceException(Code.DEADLINE_EXCEEDED, "wrk does not end.");
        }
        return sample(new String(p.getInputStream().readAllBytes()));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        throw new MillraceException(Code.CANCELLED, "Interrupted while wrk ran.", e);
      }
    }

    private Sample sample(String said) {
      Matcher rate = RATE.matcher(said);
      if (!rate.find() || SIGNS.stream().anyMatch(said::contains)) {
        throw new MillraceException(Code.UNAVAILABLE, name + " has errors: " + said);
      }
      double[] micros = new double[2];
      for (Matcher m = TIME.matcher(said); m.find(); ) {
        double unit = m.group(3).equals("us") ? 1 : m.group(3).equals("ms") ? 1e3 : 1e6;
        micros[m.group(1).equals("50") ? 0 : 1] = Double.parseDouble(m.group(2)) * unit;
      }
      return new Sample(Double.parseDouble(rate.group(1)), micros[0], micros[1], peak());
    }

    /** What the server has had resident at most. */
    private long peak() {
      try (Stream<String> lines = Files.lines(Path.of("/proc/" + server.pid() + "/status"))) {
        return lines
            .filter(l -> l.startsWith("VmHWM:"))
            .mapToLong(l -> 1024 * Long.parseLong(l.replaceAll("\\D", "")))
            .findFirst()
            .orElse(0);
      } catch (IOException e) {
        return 0; // not Linux
      }
    }

    @Override
    public void close() {
      server.close();
    }
  }
}
