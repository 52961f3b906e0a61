package dev.millrace.interop;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.ClusterDef;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.JobDef;
import dev.millrace.proto.ServerDef;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Addresses on this machine for the tasks of a cluster. The ports lie below the range from which
 * the system gives ports to outgoing connections, and each is leased by a locked file, so that
 * neither a connection nor another test of ours takes one between choosing and listening. The
 * leases end with {@link #close} or with the process.
 */
public final class LoopbackCluster implements AutoCloseable {
  private static final int FIRST_PORT = 15_000;
  private static final int LAST_PORT = 30_000;
  private static final int ATTEMPTS = 1_000;

  private final Map<String, List<Integer>> jobs = new LinkedHashMap<>();
  private final List<FileChannel> leases = new ArrayList<>();

  private LoopbackCluster() {}

  /** A cluster of one job. */
  public static LoopbackCluster of(String job, int tasks) {
    return new LoopbackCluster().with(job, tasks);
  }

  /** A cluster of parameter servers and workers, the jobs "ps" and "worker". */
  public static LoopbackCluster psAndWorkers(int ps, int workers) {
    return of("ps", ps).with("worker", workers);
  }

  /** Adds a job. */
  public LoopbackCluster with(String job, int tasks) {
    List<Integer> ports = new ArrayList<>();
    try {
      for (int i = 0; i < tasks; i++) {
        ports.add(lease());
      }
    } catch (IOException | RuntimeException e) {
      close();
      throw MillraceException.of(e);
    }
    jobs.put(job, ports);
    return this;
  }

  /** The port of a task. */
  public int port(String job, int task) {
    return jobs.get(job).get(task);
  }

  /** Where a task listens: {@code 127.0.0.1:port}. */
  public String address(String job, int task) {
    return "127.0.0.1:" + port(job, task);
  }

  /** The target of a session at a task: {@code grpc://127.0.0.1:port}. */
  public String target(String job, int task) {
    return "grpc://" + address(job, task);
  }

  /** All jobs and addresses. */
  public ClusterDef definition() {
    ClusterDef.Builder cluster = ClusterDef.newBuilder();
    jobs.forEach(
        (job, ports) -> {
          JobDef.Builder definition = JobDef.newBuilder().setName(job);
          for (int i = 0; i < ports.size(); i++) {
            definition.putTasks(i, address(job, i));
          }
          cluster.addJob(definition);
        });
    return cluster.build();
  }

  /** What a server for this task must be told. */
  public ServerDef server(String job, int task, ConfigProto config) {
    return ServerDef.newBuilder()
        .setCluster(definition())
        .setJobName(job)
        .setTaskIndex(task)
        .setProtocol("grpc")
        .setDefaultSessionConfig(config)
        .build();
  }

  @Override
  public void close() {
    for (FileChannel lease : leases) {
      try {
        lease.close();
      } catch (IOException e) {
        throw MillraceException.of(e);
      }
    }
    leases.clear();
  }

  private int lease() throws IOException {
    Path folder = Files.createDirectories(Caches.folder().resolve("ports"));
    for (int i = 0; i < ATTEMPTS; i++) {
      int port = ThreadLocalRandom.current().nextInt(FIRST_PORT, LAST_PORT);
      FileChannel file =
          FileChannel.open(
              folder.resolve(Integer.toString(port)),
              StandardOpenOption.CREATE,
              StandardOpenOption.WRITE);
      if (isLocked(file) && isFree(port)) {
        leases.add(file);
        return port;
      }
      file.close();
    }
    throw new MillraceException(
        Code.RESOURCE_EXHAUSTED,
        "No free port between %d and %d in %d attempts."
            .formatted(FIRST_PORT, LAST_PORT, ATTEMPTS));
  }

  private static boolean isLocked(FileChannel file) throws IOException {
    try {
      FileLock lock = file.tryLock();
      return lock != null;
    } catch (OverlappingFileLockException e) {
      return false;
    }
  }

  /** TensorFlow listens on every interface, so the port must be free on all. */
  private static boolean isFree(int port) {
    try (ServerSocket socket = new ServerSocket(port)) {
      return socket.isBound();
    } catch (IOException e) {
      return false;
    }
  }
}
