package dev.millrace.net;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * What proves to the other processes of a job that this one belongs to it: a certificate, its key,
 * and the authority that signed the certificates of all. It lies in a folder or in a text that fits
 * into an environment variable. A folder is read again when its files change, so certificates can
 * be replaced while processes run.
 *
 * <p>Threading: any thread.
 */
public final class Credential {
  private static final String TEXT = "pem:";
  private static final String CERTIFICATE = "tls.crt";
  private static final String KEY = "tls.key";
  private static final String ROOTS = "ca.crt";
  private static final String AUTHORITY_KEY = "ca.key";

  /** The names of cert-manager and Kubernetes, and of SPIFFE's helper. */
  private static final List<List<String>> LAYOUTS =
      List.of(
          List.of(CERTIFICATE, KEY, ROOTS),
          List.of("svid.pem", "svid_key.pem", "svid_bundle.pem"),
          List.of("svid.pem", "svid_key.pem", "bundle.pem"));

  private static final String PROTOCOL = "TLSv1.3";

  /** The fastest first. */
  private static final String[] CIPHERS = {
    "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"
  };

  private static final FileAttribute<?> PRIVATE_FOLDER =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
  private static final FileAttribute<?> PRIVATE_FILE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

  /** What the files or the text hold, and when the files changed. */
  private record Contents(
      List<X509Certificate> chain,
      PrivateKey key,
      List<X509Certificate> roots,
      List<FileTime> changed,
      SSLContext context) {}

  /** Null if the credential is a text. */
  private final @Nullable Path folder;

  private volatile Contents contents;

  private Credential(@Nullable Path folder, Contents contents) {
    this.folder = folder;
    this.contents = contents;
  }

  static Credential of(List<X509Certificate> chain, PrivateKey key, List<X509Certificate> roots) {
    return new Credential(null, contents(chain, key, roots, List.of()));
  }

  /** Opens a credential by the name of its folder, or by the text of {@link #toText}. */
  public static Credential open(String folderOrText) {
    if (!isText(folderOrText)) {
      return in(Path.of(folderOrText));
    }
    String where = "the credential text";
    String pem;
    try {
      pem =
          new String(
              Base64.getDecoder().decode(folderOrText.substring(TEXT.length())),
              StandardCharsets.US_ASCII);
    } catch (IllegalArgumentException e) {
      throw MillraceException.invalid("The credential text is damaged: %s", e.getMessage());
    }
    List<X509Certificate> all = Pem.certificates(pem, where);
    if (all.size() < 2) {
      throw MillraceException.invalid(
          "The credential text has %d certificates; it needs its own and the authority's.",
          all.size());
    }
    return of(all.subList(0, all.size() - 1), Pem.key(pem, where), List.of(all.getLast()));
  }

  /** Whether this is a credential itself and not the name of its folder. */
  public static boolean isText(String folderOrText) {
    return folderOrText.startsWith(TEXT);
  }

  /** Opens the credential in a folder. */
  public static Credential in(Path folder) {
    return new Credential(folder, read(folder));
  }

  /**
   * Opens the credential of a task. In a folder with the job's authority it is the one in the
   * subfolder with the task's name, such as {@code ps-0}, or one that is made now, in memory.
   */
  public static Credential open(String folderOrText, String task) {
    if (isText(folderOrText)) {
      return open(folderOrText);
    }
    Path folder = Path.of(folderOrText);
    Path own = folder.resolve(task.replace('/', '-'));
    if (Files.isDirectory(own)) {
      return in(own);
    }
    return Files.exists(folder.resolve(AUTHORITY_KEY)) ? authority(folder).issue(task) : in(folder);
  }

  private static Contents read(Path folder) {
    for (List<String> names : LAYOUTS) {
      List<Path> files = names.stream().map(folder::resolve).toList();
      if (files.stream().allMatch(Files::isRegularFile)) {
        try {
          List<FileTime> changed = changed(files);
          return contents(
              Pem.certificates(Files.readString(files.get(0)), files.get(0).toString()),
              Pem.key(Files.readString(files.get(1)), files.get(1).toString()),
              Pem.certificates(Files.readString(files.get(2)), files.get(2).toString()),
              changed);
        } catch (IOException e) {
          throw new MillraceException(
              Code.PERMISSION_DENIED, "The credential in " + folder + " cannot be read: " + e, e);
        }
      }
    }
    throw new MillraceException(
        Code.NOT_FOUND,
        "There is no credential in the folder "
            + folder
            + ": it needs tls.crt, tls.key and ca.crt, or SPIFFE's svid.pem, svid_key.pem and"
            + " svid_bundle.pem. 'millrace credentials new "
            + folder
            + "' makes one.");
  }

  private static List<FileTime> changed(List<Path> files) throws IOException {
    List<FileTime> all = new ArrayList<>();
    for (Path f : files) {
      all.add(Files.getLastModifiedTime(f));
    }
    return all;
  }

  private static Contents contents(
      List<X509Certificate> chain,
      PrivateKey key,
      List<X509Certificate> roots,
      List<FileTime> changed) {
    if (chain.isEmpty() || roots.isEmpty()) {
      throw MillraceException.invalid(
          "A credential needs its own certificate and the authority's; found %d and %d.",
          chain.size(), roots.size());
    }
    try {
      char[] none = new char[0];
      KeyStore own = KeyStore.getInstance("PKCS12");
      own.load(null, none);
      own.setKeyEntry("own", key, none, chain.toArray(new X509Certificate[0]));
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, none);
      for (int i = 0; i < roots.size(); i++) {
        trusted.setCertificateEntry("root" + i, roots.get(i));
      }
      KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
      keys.init(own, none);
      TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
      trust.init(trusted);
      SSLContext context = SSLContext.getInstance(PROTOCOL);
      context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
      return new Contents(List.copyOf(chain), key, List.copyOf(roots), changed, context);
    } catch (GeneralSecurityException | IOException e) {
      throw MillraceException.invalid("The credential cannot be used: %s", e.getMessage());
    }
  }

  /** What the files hold now; what they held before if they cannot be read. */
  private Contents current() {
    Contents c = contents;
    if (folder != null) {
      for (List<String> names : LAYOUTS) {
        try {
          List<FileTime> now = changed(names.stream().map(folder::resolve).toList());
          if (!now.equals(c.changed)) {
            c = read(folder);
            contents = c;
          }
          return c;
        } catch (IOException | MillraceException e) {
          // Of another layout, or half replaced: the next handshake looks again.
        }
      }
    }
    return c;
  }

  /** One end of an encrypted connection that admits this job's processes only. */
  SSLEngine engine(boolean client) {
    SSLEngine e = current().context.createSSLEngine();
    e.setUseClientMode(client);
    SSLParameters p = e.getSSLParameters();
    p.setProtocols(new String[] {PROTOCOL});
    Set<String> known = Set.of(e.getSupportedCipherSuites());
    p.setCipherSuites(
        java.util.Arrays.stream(CIPHERS).filter(known::contains).toArray(String[]::new));
    p.setNeedClientAuth(!client);
    e.setSSLParameters(p);
    return e;
  }

  /** Who the other end has proved to be. */
  static PeerIdentity peer(SSLEngine engine) throws SSLException {
    if (engine.getSession().getPeerCertificates()[0] instanceof X509Certificate c) {
      return PeerIdentity.of(c);
    }
    throw new SSLException("the peer has no X.509 certificate");
  }

  /** Who this process is by its credential. */
  public PeerIdentity identity() {
    return PeerIdentity.of(current().chain.getFirst());
  }

  /** Until when it is valid. */
  public Instant validUntil() {
    return current().chain.getFirst().getNotAfter().toInstant();
  }

  /** The job's name: the common name of its authority. */
  public String job() {
    return commonName(current().roots.getFirst());
  }

  static String commonName(X509Certificate c) {
    String name = c.getSubjectX500Principal().getName();
    return name.startsWith("CN=") ? name.substring(3).split(",", 2)[0] : name;
  }

  /** The whole credential as one word, for an environment variable. It is a secret. */
  public String toText() {
    Contents c = current();
    StringBuilder pem = new StringBuilder(Pem.of(c.key));
    c.chain.forEach(x -> pem.append(Pem.of(x)));
    pem.append(Pem.of(c.roots.getFirst()));
    return TEXT
        + Base64.getEncoder().encodeToString(pem.toString().getBytes(StandardCharsets.US_ASCII));
  }

  // ---- folders ----

  /** Writes it to a folder that only this user can open. */
  public void write(Path to) {
    Contents c = current();
    StringBuilder chain = new StringBuilder();
    c.chain.forEach(x -> chain.append(Pem.of(x)));
    StringBuilder roots = new StringBuilder();
    c.roots.forEach(x -> roots.append(Pem.of(x)));
    try {
      makeFolder(to);
      put(to, KEY, Pem.of(c.key));
      put(to, ROOTS, roots.toString());
      put(to, CERTIFICATE, chain.toString());
    } catch (IOException e) {
      throw unwritable(to, e);
    }
  }

  /** Makes the authority of a new job in a folder, and a client's credential beside it. */
  public static JobAuthority newAuthority(Path folder, Duration valid) {
    if (Files.exists(folder.resolve(AUTHORITY_KEY)) || Files.exists(folder.resolve(KEY))) {
      throw new MillraceException(
          Code.ALREADY_EXISTS,
          folder + " holds a credential already. Use it, or name another folder.");
    }
    JobAuthority a = JobAuthority.create(valid);
    try {
      makeFolder(folder);
      put(folder, AUTHORITY_KEY, Pem.of(a.key()));
    } catch (IOException e) {
      throw unwritable(folder, e);
    }
    a.issue(JobAuthority.CLIENT, valid).write(folder);
    return a;
  }

  /** The authority in a folder that {@link #newAuthority} made. */
  public static JobAuthority authority(Path folder) {
    Path key = folder.resolve(AUTHORITY_KEY);
    Path certificate = folder.resolve(ROOTS);
    if (!Files.exists(key)) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "There is no authority in "
              + folder
              + ": 'millrace credentials new "
              + folder
              + "' makes one.");
    }
    try {
      return new JobAuthority(
          Pem.certificates(Files.readString(certificate), certificate.toString()).getFirst(),
          Pem.key(Files.readString(key), key.toString()));
    } catch (IOException e) {
      throw new MillraceException(
          Code.PERMISSION_DENIED, "The authority in " + folder + " cannot be read: " + e, e);
    }
  }

  private static void makeFolder(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      Path parent = folder.toAbsolutePath().getParent();
      if (parent != null) {
        Files.createDirectories(parent);
      }
      Files.createDirectory(folder, PRIVATE_FOLDER);
    }
  }

  /** Others see the old file or the new one, and nobody else can read it at any time. */
  private static void put(Path folder, String name, String text) throws IOException {
    Path part = folder.resolve(name + ".new");
    Files.deleteIfExists(part);
    Files.createFile(part, PRIVATE_FILE);
    Files.writeString(part, text, StandardOpenOption.WRITE);
    Files.move(part, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
  }

  private static MillraceException unwritable(Path folder, IOException e) {
    return new MillraceException(
        Code.FAILED_PRECONDITION, "The credential cannot be written to " + folder + ": " + e, e);
  }

  @Override
  public String toString() {
    return identity()
        + " of "
        + job()
        + (validUntil().isBefore(Context.current().timers().wallTime()) ? ", expired" : "");
  }
}
