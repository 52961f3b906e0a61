package dev.millrace.collective.peers;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.member.Member;
import dev.millrace.collective.member.Packet;
import dev.millrace.collective.member.PrivateFolder;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HexFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lays the shared memory of this host's ranks. The first of them makes a file, the others map it,
 * and as soon as all have, its name is removed: whatever happens later, nothing stays behind. All
 * know the name before there is a file, so each of them can remove it, whoever dies meanwhile.
 */
final class SharedMemorySetup {
  private static final Logger LOG = LoggerFactory.getLogger(SharedMemorySetup.class);
  private static final Path MEMORY_FILES = Path.of("/dev/shm");
  private static final long MAX_WINDOW_BYTES = 8L << 30;

  /** Where in the header the file's random mark is. */
  private static final long MARK_AT = 64;

  private final Member member;
  private final Topology hosts;
  private final int rank;
  private final int locals;

  /** What the first rank of this host makes: null if it cannot. */
  private Path file;

  private long windowBytes;
  private long mark;
  private SharedMemory memory;
  private String trouble = "";

  private SharedMemorySetup(Member member, Topology hosts) {
    this.member = member;
    this.hosts = hosts;
    this.rank = member.rank();
    this.locals = hosts.localSize(rank);
  }

  /**
   * The memory of each host's ranks, laid by all ranks together.
   *
   * @param region this rank's, or null if there is none
   * @param shares for every rank whether its host has it
   */
  record Created(SharedRegion region, boolean[] shares) {}

  /** Lays it. {@code strict} fails the job where it cannot be had. */
  static Created create(Member member, Topology hosts, boolean strict) {
    return new SharedMemorySetup(member, hosts).create(strict);
  }

  private Created create(boolean strict) {
    String[] troubles = makeAndMap();
    boolean[] shares = new boolean[hosts.size()];
    for (int r = 0; r < shares.length; r++) {
      shares[r] = hosts.localSize(r) > 1 && troubles[hosts.islandOf(r)].isEmpty();
    }
    String mine = troubles[hosts.islandOf(rank)];
    if (!mine.isEmpty()) {
      if (strict) {
        throw member.fail(new MillraceException(Code.FAILED_PRECONDITION, mine));
      }
      LOG.warn("{} Unix domain sockets are used instead.", mine);
    }
    return new Created(shares[rank] ? region() : null, shares);
  }

  /**
   * The first trouble of each island. However this ends, every rank that knows the file removes its
   * name: the rank that made it may be the one that died.
   */
  private String[] makeAndMap() {
    boolean first = hosts.localRank(rank) == 0;
    try {
      if (first && locals > 1) {
        attempt(this::plan);
      }
      announce();
      if (first && file != null) {
        attempt(this::create);
      }
      trouble = compare("memory made")[hosts.islandOf(rank)];
      if (!first && trouble.isEmpty()) {
        attempt(this::open);
      }
      return compare("memory mapped");
    } finally {
      if (file != null) {
        remove();
      }
    }
  }

  private SharedRegion region() {
    return new SharedRegion(new RegionLayout(locals, windowBytes), memory, hosts.localRank(rank));
  }

  private interface Step {
    void run() throws IOException;
  }

  private void attempt(Step step) {
    try {
      step.run();
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      trouble =
          String.format(
              "Rank %d cannot share memory with the %d other ranks on its host: %s.",
              rank, locals - 1, e.getMessage() == null ? e : e.getMessage());
    }
  }

  private void plan() throws IOException {
    SecureRandom random = new SecureRandom();
    byte[] name = new byte[8];
    random.nextBytes(name);
    String text = "millrace-" + HexFormat.of().formatHex(name);
    Path path =
        Files.isWritable(MEMORY_FILES)
            ? MEMORY_FILES.resolve(text)
            : PrivateFolder.ofUser().resolve(text);
    long fixed = new RegionLayout(locals, 0).fixedBytes();
    long usable = Files.getFileStore(path.getParent()).getUsableSpace();
    if (usable < fixed) {
      throw new IOException(
          String.format(
              "%s has %d MiB left, %d are needed. Give it more, for a container with --shm-size",
              path.getParent(), usable >> 20, (fixed >> 20) + 1));
    }
    windowBytes = Math.min(MAX_WINDOW_BYTES, (usable - fixed) / locals) & -4096;
    file = path;
    mark = random.nextLong();
  }

  private void create() throws IOException {
    RegionLayout layout = new RegionLayout(locals, windowBytes);
    memory = SharedMemory.create(file, layout.totalBytes());
    memory.claim(0, layout.fixedBytes());
    memory.segment().set(ValueLayout.JAVA_LONG, MARK_AT, mark);
  }

  /** Tells all ranks of this host what its first rank is about to make. */
  private void announce() {
    Packet p = Packet.empty().putString(trouble).putString(file == null ? "" : file.toString());
    p.putLong(windowBytes).putLong(mark);
    byte[][] all = member.exchange("memory planned", p.toBytes());
    Packet first = Packet.of(all[hosts.ranks(hosts.islandOf(rank))[0]]);
    trouble = first.getString();
    String path = first.getString();
    file = path.isEmpty() ? null : Path.of(path);
    windowBytes = first.getLong();
    mark = first.getLong();
  }

  private void open() throws IOException {
    memory = SharedMemory.open(file, new RegionLayout(locals, windowBytes).totalBytes());
    if (memory.segment().get(ValueLayout.JAVA_LONG, MARK_AT) != mark) {
      throw new IOException(file + " is not the file the host's first rank has made");
    }
  }

  /** The first trouble of each island, empty where all went well. */
  private String[] compare(String when) {
    byte[][] all = member.exchange(when, Packet.empty().putString(trouble).toBytes());
    String[] troubles = new String[hosts.islands()];
    java.util.Arrays.fill(troubles, "");
    for (int r = 0; r < all.length; r++) {
      String t = Packet.of(all[r]).getString();
      int island = hosts.islandOf(r);
      troubles[island] = troubles[island].isEmpty() ? t : troubles[island];
    }
    return troubles;
  }

  private void remove() {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      LOG.warn("Cannot remove {}: {}", file, e.getMessage());
    }
  }
}
