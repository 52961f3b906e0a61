package dev.millrace.collective.peers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.collective.member.JobEntry;
import dev.millrace.collective.member.Member;
import dev.millrace.collective.member.Packet;
import dev.millrace.collective.member.Service;
import dev.millrace.collective.testing.Jobs;
import dev.millrace.collective.testing.Ranks;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A rank that dies while the memory is laid leaves no file behind, whoever has made it. */
class SharedMemorySetupTest {
  private static final Topology TOGETHER = Topology.of(List.of(0, 0));
  private static final byte[] NO_TROUBLE = Packet.empty().putString("").toBytes();

  /** Runs the two ranks of a job up to where memory is laid. */
  private static void run(Ranks.Body<Member> body) {
    Ranks.run(
        Jobs.settings(2, Transport.SHARED_MEMORY),
        (rank, s) -> {
          try (JobEntry job =
              JobEntry.enter(s.place(), s.terms(), Platform.system(), Service::none)) {
            job.awaitAll();
            body.run(rank, job.member());
          }
        });
  }

  private static void assertLayingNames(int dead, Member member) {
    MillraceException e =
        assertThrows(
            MillraceException.class, () -> SharedMemorySetup.create(member, TOGETHER, false));
    assertTrue(e.getMessage().contains("Rank " + dead + " died"), e.getMessage());
  }

  @Test
  void theRankThatMadeTheFileRemovesItWhenAnotherDies() {
    CompletableFuture<Path> made = new CompletableFuture<>();
    run(
        (rank, member) -> {
          if (rank == 1) {
            Packet first = Packet.of(member.exchange("memory planned", announcement(""))[0]);
            assertEquals("", first.getString());
            Path file = Path.of(first.getString());
            member.exchange("memory made", NO_TROUBLE);
            assertTrue(Files.exists(file), file.toString());
            made.complete(file);
            member.close();
          } else {
            assertLayingNames(1, member);
            Path file = made.get(20, TimeUnit.SECONDS);
            assertFalse(Files.exists(file), file.toString());
          }
        });
  }

  /** Before it can say that the file is there, or after. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theOthersRemoveItWhenTheRankThatMadeItDies(boolean said, @TempDir Path folder) {
    Path file = folder.resolve("memory");
    run(
        (rank, member) -> {
          if (rank == 0) {
            member.exchange("memory planned", announcement(file.toString()));
            Files.createFile(file);
            if (said) {
              member.exchange("memory made", NO_TROUBLE);
            }
            member.close();
          } else {
            assertLayingNames(0, member);
            assertFalse(Files.exists(file), file.toString());
          }
        });
  }

  private static byte[] announcement(String file) {
    return Packet.empty().putString("").putString(file).putLong(0).putLong(7).toBytes();
  }
}
