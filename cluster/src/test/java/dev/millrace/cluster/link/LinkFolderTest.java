package dev.millrace.cluster.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.ThisUser;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Link folders are safe from other users, and cleaned up after killed processes. */
class LinkFolderTest {
  @TempDir private Path base;

  private Path parent() {
    return LinkFolder.ofUser(base).path();
  }

  private LinkFolder create() throws IOException {
    return LinkFolder.create(LinkFolder.ofUser(base));
  }

  /** The folder of a process that has ended. */
  private Path abandoned(String name) throws IOException {
    Files.createFile(parent().resolve(name + ".lock"));
    return parent().resolve(name);
  }

  private static List<Path> files(Path folder) throws IOException {
    try (var files = Files.list(folder)) {
      return files.toList();
    }
  }

  @Test
  void whatAKilledProcessLeftGoesWithTheNextStart() throws Exception {
    Path left = Files.createDirectory(abandoned("link-1-a"));
    Files.createFile(left.resolve("tensor-1"));
    try (LinkFolder folder = create();
        LinkFolder second = create()) {
      assertFalse(Files.exists(left));
      assertEquals(
          "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.path())));
      assertTrue(Files.exists(folder.path()), "of a process that is there");
      assertNotNull(folder.sibling(second.path()));
      assertNull(folder.sibling(base));
      assertNull(folder.sibling(parent()));
    }
    assertEquals(List.of(), files(parent()));
  }

  @Test
  @Timeout(value = 60, unit = TimeUnit.SECONDS)
  void tasksOfOneProcessThatStartAtOnceAllClearUp() throws Exception {
    for (int i = 0; i < 200; i++) {
      Files.createDirectory(abandoned("link-1-" + i));
    }
    CyclicBarrier together = new CyclicBarrier(4);
    try (ExecutorService tasks = Executors.newFixedThreadPool(together.getParties())) {
      List<Future<Void>> starts = new ArrayList<>();
      for (int i = 0; i < together.getParties(); i++) {
        starts.add(
            tasks.submit(
                () -> {
                  together.await();
                  create().close();
                  return null;
                }));
      }
      for (Future<Void> start : starts) {
        start.get();
      }
    }
    assertEquals(List.of(), files(parent()));
  }

  @Test
  void filesBehindASymbolicLinkStay() throws Exception {
    Path theirs = Files.createDirectory(base.resolve("checkpoints"));
    Path file = Files.createFile(theirs.resolve("model.ckpt-1"));
    Files.createSymbolicLink(abandoned("link-1-a"), theirs);
    Path folder = Files.createDirectory(abandoned("link-1-b"));
    Files.createSymbolicLink(folder.resolve("tensor-1"), file);
    create().close();
    assertTrue(Files.exists(file));
    assertFalse(Files.exists(folder));
  }

  @Test
  void aFolderThatIsASymbolicLinkIsRefused() throws Exception {
    Path theirs = Files.createDirectory(base.resolve("checkpoints"));
    Files.createSymbolicLink(base.resolve("millrace-" + ThisUser.name()), theirs);
    assertEquals(
        Code.PERMISSION_DENIED, assertThrows(MillraceException.class, this::create).code());
  }

  @Test
  void aFolderOfAnotherUserIsRefused() throws Exception {
    Path folder = parent();
    try {
      Files.setOwner(
          folder, base.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("1"));
    } catch (IOException e) {
      assumeTrue(false, "only root gives files away: " + e);
    }
    assertEquals(
        Code.PERMISSION_DENIED, assertThrows(MillraceException.class, this::create).code());
    assertEquals(List.of(), files(folder));
  }

  @Test
  @Timeout(value = 60, unit = TimeUnit.SECONDS)
  void nobodyIsAskedWhetherHeIsThere() throws Exception {
    Path left = Files.createDirectory(abandoned("link-1-a"));
    UnixDomainSocketAddress socket = UnixDomainSocketAddress.of(left.resolve("socket"));
    try (ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      listener.bind(socket, 1);
      // As many as are taken without being accepted; the next would wait.
      try (SocketChannel _ = SocketChannel.open(socket);
          SocketChannel _ = SocketChannel.open(socket)) {
        create().close();
      }
    }
    assertFalse(Files.exists(left));
  }
}
