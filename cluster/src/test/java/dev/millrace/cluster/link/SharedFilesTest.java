package dev.millrace.cluster.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The shared memory of a link, both ends in one process. */
class SharedFilesTest {
  private static final Shape MEBIBYTE = Shape.of(1 << 18);
  private static final Config SETTINGS =
      Config.defaults().with(ClusterSettings.LINK_SHARED_LIMIT, 4L << 20);

  @TempDir private Path folder;
  private SharedFiles sender;
  private SharedFiles receiver;

  @BeforeEach
  void open() {
    sender = new SharedFiles(folder, folder, SETTINGS);
    receiver = new SharedFiles(folder, folder, SETTINGS);
  }

  @AfterEach
  void close() {
    sender.close();
    receiver.close();
  }

  /** Sends what was made in shared memory; the receiver's view of it. */
  private Buffer pass(Tensor made) throws IOException {
    SharedFile file = sender.sent(made);
    assertNotNull(file, "not made in shared memory");
    Refs.release(made);
    return receiver.receive(file.id, file.capacity());
  }

  private int files() throws IOException {
    try (var files = Files.list(folder)) {
      return (int) files.count();
    }
  }

  @Test
  void tensorsOfOtherSizesTakeThePlaceOfThoseThatAreNotSentAnyMore() throws IOException {
    for (int n = 1 << 15; n <= 1 << 19; n += n / 2) {
      Tensor t = sender.room(DType.FLOAT, Shape.of(n));
      assertNotNull(t, "no room for " + n + " floats");
      pass(t).release();
      assertTrue(sender.outgoingBytes() <= 4L << 20);
    }
  }

  @Test
  void whatIsStillReadKeepsItsPlace() throws IOException {
    Buffer[] read = new Buffer[4];
    for (int i = 0; i < read.length; i++) {
      Tensor t = sender.room(DType.FLOAT, MEBIBYTE);
      t.data().fill((byte) i);
      read[i] = pass(t);
    }
    assertNull(sender.room(DType.FLOAT, MEBIBYTE));
    sender.giveBackUnused(0);
    for (int i = 0; i < read.length; i++) {
      assertEquals((byte) i, read[i].memory().get(java.lang.foreign.ValueLayout.JAVA_BYTE, 77));
      read[i].release();
    }
    Tensor again = sender.room(DType.FLOAT, MEBIBYTE);
    assertNotNull(again);
    Refs.release(again);
  }

  @Test
  void memoryThatIsNotUsedGoesBackToTheSystemAtBothEnds() throws IOException {
    pass(sender.room(DType.FLOAT, MEBIBYTE)).release();
    sender.giveBackUnused(Long.MAX_VALUE);
    assertEquals(1, files());
    sender.giveBackUnused(0);
    assertEquals(0, files());
    assertEquals(0, sender.outgoingBytes());
    receiver.giveBackUnused(0);
    assertEquals(0, receiver.incomingFiles());
    pass(sender.room(DType.FLOAT, MEBIBYTE)).release();
  }

  @Test
  void whatWasMadeAndNeitherSentNorReleasedIsNotGivenBack() throws IOException {
    Tensor made = sender.room(DType.FLOAT, MEBIBYTE);
    sender.giveBackUnused(0);
    made.data().fill((byte) 1);
    assertTrue(sender.isStaged(made));
    pass(made).release();
  }
}
