package dev.millrace.interop.ring;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.TestSettings;
import dev.millrace.interop.ChildProcess;
import dev.millrace.interop.bench.Contender;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Two ranks with one compute thread each, by Millrace's ring and by PyTorch's
 * DistributedDataParallel over Gloo.
 */
public final class DataParallel {
  private static final int RANKS = 2;

  private DataParallel() {}

  /** Ranks of Millrace on this host. */
  public static Contender millrace(String network) {
    String job = "bench-" + UUID.randomUUID();
    List<ChildProcess> ranks = new ArrayList<>();
    for (int r = 0; r < RANKS; r++) {
      Map<String, String> environment =
          Map.of("MILLRACE_RANK", "" + r, "MILLRACE_SIZE", "" + RANKS, "MILLRACE_JOB", job);
      List<String> command = ChildProcess.java(TrainingRank.class, List.of(network, "overlap"));
      ranks.add(ChildProcess.start("rank-" + r, command, environment));
    }
    return Ranks.started("Millrace, ring of 2 x 1 thread", ranks);
  }

  private static String freePort() throws IOException {
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return Integer.toString(free.getLocalPort());
    }
  }

  /**
   * Ranks of PyTorch, by the Python named by {@code -Dmillrace.torch}, else the system's. On Debian
   * python3-torch wants libopenblas0-pthread beside it.
   */
  public static Contender pyTorch(String network) {
    String python = Config.ofProcess().get(TestSettings.TORCH);
    List<ChildProcess> ranks = new ArrayList<>();
    try (InputStream script = DataParallel.class.getResourceAsStream("data_parallel.py")) {
      Path file = Files.createTempFile("data_parallel-", ".py");
      file.toFile().deleteOnExit();
      Files.write(file, script.readAllBytes());
      String port = freePort();
      for (int r = 0; r < RANKS; r++) {
        List<String> command = List.of(python, file.toString(), network, "" + r, "" + RANKS, port);
        Map<String, String> oneThread =
            Map.of("OMP_NUM_THREADS", "1", "OPENBLAS_NUM_THREADS", "1", "GLOO_SOCKET_IFNAME", "lo");
        ranks.add(ChildProcess.start("torch-" + r, command, oneThread));
      }
    } catch (IOException e) {
      throw new MillraceException(Code.UNAVAILABLE, "PyTorch cannot be started: " + e, e);
    }
    return Ranks.started("PyTorch DDP over Gloo, 2 x 1 thread", ranks);
  }
}
