package dev.millrace.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CredentialTest {
  private static final Duration DAY = Duration.ofDays(1);

  @Test
  void aTextHoldsTheWholeCredential() {
    JobAuthority job = JobAuthority.create(DAY);
    Credential c = Credential.open(job.issue("worker/3").toText());
    assertTrue(c.identity().maySpeakFor("worker/3", null));
    assertEquals(job.job(), c.job());
    assertFalse(c.toText().contains("\n"));
    assertFalse(c.toString().contains("PRIVATE"));
  }

  @Test
  void onlyItsUserCanReadAFolder(@TempDir Path temp) throws Exception {
    Path folder = temp.resolve("job");
    Credential.newAuthority(folder, DAY);
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)));
    try (Stream<Path> files = Files.list(folder)) {
      for (Path f : files.toList()) {
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(f)));
      }
    }
    assertThrows(MillraceException.class, () -> Credential.newAuthority(folder, DAY));
  }

  @Test
  void aFolderWithTheAuthorityServesEveryTask(@TempDir Path temp) {
    Path folder = temp.resolve("job");
    JobAuthority job = Credential.newAuthority(folder, DAY);
    assertTrue(Credential.open(folder.toString(), "ps/1").identity().maySpeakFor("ps/1", null));
    job.issue("ps/0", DAY).write(folder.resolve("ps-0"));
    assertEquals(
        Credential.in(folder.resolve("ps-0")).validUntil(),
        Credential.open(folder.toString(), "ps/0").validUntil());
    assertFalse(Credential.open(folder.toString()).identity().maySpeakFor("ps/0", null));
  }

  @Test
  void aReplacedFolderIsReadAgain(@TempDir Path temp) throws Exception {
    Path folder = temp.resolve("job");
    JobAuthority job = Credential.newAuthority(folder, DAY);
    Credential c = Credential.in(folder);
    Instant before = c.validUntil();
    job.issue("client", Duration.ofDays(9)).write(folder);
    for (String name : List.of("tls.crt", "tls.key")) {
      Files.setLastModifiedTime(
          folder.resolve(name), FileTime.from(Instant.now().plusSeconds(100)));
    }
    assertNotEquals(before, c.validUntil());
  }

  @Test
  void spiffesFilesAreUnderstood(@TempDir Path temp) throws Exception {
    JobAuthority job = JobAuthority.create(DAY);
    job.issue("ps/0").write(temp.resolve("a"));
    Path folder = Files.createDirectory(temp.resolve("b"));
    Files.move(temp.resolve("a/tls.crt"), folder.resolve("svid.pem"));
    Files.move(temp.resolve("a/tls.key"), folder.resolve("svid_key.pem"));
    Files.move(temp.resolve("a/ca.crt"), folder.resolve("svid_bundle.pem"));
    assertTrue(Credential.in(folder).identity().maySpeakFor("ps/0", null));
  }

  /** As OpenSSL and cert-manager write keys: with the names of RSA and of elliptic curves. */
  @Test
  void keysOfOpensslAreUnderstood(@TempDir Path temp) throws Exception {
    if (!hasOpenssl()) {
      return;
    }
    for (List<String> how :
        List.of(
            List.of("openssl", "ecparam", "-genkey", "-noout", "-name", "prime256v1"),
            List.of("openssl", "genrsa", "-traditional"))) {
      Path folder = Files.createDirectory(temp.resolve(how.get(1)));
      Path key = folder.resolve("tls.key");
      run(Stream.concat(how.stream(), Stream.of("-out", key.toString())).toList());
      run(
          List.of(
              "openssl",
              "req",
              "-x509",
              "-new",
              "-key",
              key.toString(),
              "-days",
              "2",
              "-subj",
              "/CN=mine",
              "-addext",
              "subjectAltName=DNS:mnist-ps-0.mnist.default.svc",
              "-out",
              folder.resolve("tls.crt").toString()));
      Files.copy(folder.resolve("tls.crt"), folder.resolve("ca.crt"));
      PeerIdentity who = Credential.in(folder).identity();
      assertTrue(who.maySpeakFor("ps/0", null));
      assertFalse(who.maySpeakFor("ps/1", null));
      assertTrue(who.maySpeakFor("ps/1", "mnist-ps-0.mnist.default.svc"));
    }
  }

  private static boolean hasOpenssl() {
    return Files.isExecutable(Path.of("/usr/bin/openssl"));
  }

  private static void run(List<String> command) throws Exception {
    Process p =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertTrue(p.waitFor(30, java.util.concurrent.TimeUnit.SECONDS));
    assertEquals(0, p.exitValue(), command::toString);
  }

  @Test
  void aFolderWithoutOneSaysHowToMakeOne(@TempDir Path temp) {
    String message = assertThrows(MillraceException.class, () -> Credential.in(temp)).getMessage();
    assertTrue(message.contains("millrace credentials new"), message);
  }
}
