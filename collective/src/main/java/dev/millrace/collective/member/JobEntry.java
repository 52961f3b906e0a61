package dev.millrace.collective.member;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * How a process enters its job: rank 0 starts the coordinator, unless the launcher has, and every
 * rank joins it.
 *
 * <p>With an address given, the coordinator is there. Without one all ranks are on one host, and
 * rank 0 leaves address and a fresh token in a file that only this user's processes can read.
 */
public final class JobEntry implements AutoCloseable {
  private static final String TOKEN_FILE = "token";

  private static final Duration LOOK = Duration.ofMillis(20);

  /** How long to try the address in a file before looking whether it has been replaced. */
  private static final Duration FILE_PATIENCE = Duration.ofSeconds(1);

  private final Member member;
  private final RingCoordinator coordinator;
  private final Token token;
  private final Timeouts terms;

  /** Takes back what was left for others to find; to be run when all have found it. */
  private final Runnable tidy;

  private JobEntry(
      Member member, RingCoordinator coordinator, Token token, Timeouts terms, Runnable tidy) {
    this.member = member;
    this.coordinator = coordinator;
    this.token = token;
    this.terms = terms;
    this.tidy = tidy;
  }

  /** Enters the job; {@code service} runs beside the coordinator if this process hosts it. */
  public static JobEntry enter(
      RankConfig place, Timeouts terms, Platform platform, Service.Factory service) {
    return place.rendezvous() == null
        ? enterByFile(place, terms, platform, service)
        : enterByAddress(place, terms, platform, service);
  }

  private static JobEntry enterByAddress(
      RankConfig place, Timeouts terms, Platform platform, Service.Factory service) {
    InetSocketAddress given = place.rendezvousAddress();
    Token token = place.token();
    if (token == null) {
      if (!isLoopback(given)) {
        throw MillraceException.failedPrecondition(
            "The job meets at %s, which is not loopback, without a token: anybody could join. Set"
                + " MILLRACE_TOKEN to the same secret for all ranks.",
            place.rendezvous());
      }
      token = userToken();
    }
    RingCoordinator coordinator = null;
    if (place.hostsCoordinator()) {
      InetSocketAddress bind = new InetSocketAddress(given.getHostString(), given.getPort());
      coordinator = RingCoordinator.start(place.size(), terms, platform, token, bind, service);
    }
    return join(place, terms, platform, given, token, coordinator, () -> {});
  }

  private static boolean isLoopback(InetSocketAddress address) {
    try {
      return InetAddress.getByName(address.getHostString()).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return false;
    }
  }

  /** A token for all of this user's processes on this host. */
  private static Token userToken() {
    PrivateFolder folder = PrivateFolder.ofUser();
    return Token.of(folder.writeOnce(TOKEN_FILE, Token.random().text()));
  }

  private static JobEntry enterByFile(
      RankConfig place, Timeouts terms, Platform platform, Service.Factory service) {
    PrivateFolder folder = PrivateFolder.ofUser();
    String file = "job-" + place.job();
    if (!place.hostsCoordinator()) {
      return enterAsFileSays(place, terms, platform, folder, file);
    }
    Token token = place.token() == null ? Token.random() : place.token();
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    RingCoordinator coordinator =
        RingCoordinator.start(place.size(), terms, platform, token, any, service);
    InetSocketAddress at = coordinator.address();
    folder.write(file, at.getAddress().getHostAddress() + ":" + at.getPort() + "\n" + token.text());
    return join(place, terms, platform, at, token, coordinator, () -> folder.delete(file));
  }

  /** Follows the file, which may yet be that of an earlier job of the same name. */
  private static JobEntry enterAsFileSays(
      RankConfig place, Timeouts terms, Platform platform, PrivateFolder folder, String file) {
    Timers timers = platform.timers();
    long start = timers.now();
    long end = start + terms.join().toNanos();
    MillraceException last = null;
    while (timers.now() - end < 0) {
      String contents = folder.read(file);
      if (contents != null) {
        String[] lines = contents.split("\n");
        try {
          Token token = Token.of(lines[1]);
          InetSocketAddress at = RankConfig.parse(lines[0]);
          Member member =
              JoinRequest.join(
                  place.rank(), place.size(), terms, platform, FILE_PATIENCE, at, token);
          return new JobEntry(member, null, token, terms, () -> {});
        } catch (MillraceException e) {
          if (e.code() == Code.FAILED_PRECONDITION) {
            throw e;
          }
          last = e;
        }
      }
      pause(timers);
    }
    throw new MillraceException(
        Code.DEADLINE_EXCEEDED,
        String.format(
            "Rank %d has waited %d s for rank 0 of job '%s' to say in %s where to meet%s. Check"
                + " that rank 0 was started on this host by the same user.",
            place.rank(),
            TimeUnit.NANOSECONDS.toSeconds(timers.now() - start),
            place.job(),
            folder.resolve(file),
            last == null ? "" : " (what it says leads nowhere: " + last.getMessage() + ")"),
        last);
  }

  private static void pause(Timers timers) {
    try {
      timers.sleep(LOOK);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted while joining a job.", e);
    }
  }

  private static JobEntry join(
      RankConfig place,
      Timeouts terms,
      Platform platform,
      InetSocketAddress at,
      Token token,
      RingCoordinator coordinator,
      Runnable tidy) {
    try {
      Member member =
          JoinRequest.join(place.rank(), place.size(), terms, platform, terms.join(), at, token);
      return new JobEntry(member, coordinator, token, terms, tidy);
    } catch (RuntimeException e) {
      tidy.run();
      if (coordinator != null) {
        coordinator.close();
      }
      throw e;
    }
  }

  /** This rank's connection to the coordinator. */
  public Member member() {
    return member;
  }

  /** Waits until all ranks have joined, at most {@link Timeouts#join}. */
  public void awaitAll() {
    member.exchange("joined", new byte[0]);
    tidy.run();
  }

  /** What other processes of the job must know. */
  public Token token() {
    return token;
  }

  /**
   * Leaves the job. The process that hosts the coordinator waits for the others to leave too, at
   * most {@link Timeouts#close}.
   */
  @Override
  public void close() {
    tidy.run();
    member.leave();
    if (coordinator != null) {
      coordinator.awaitEnd(terms.close());
      coordinator.close();
    }
    member.close();
  }
}
