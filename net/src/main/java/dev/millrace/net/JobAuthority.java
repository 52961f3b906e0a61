package dev.millrace.net;

import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import java.io.ByteArrayInputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.interfaces.ECPrivateKey;
import java.security.interfaces.RSAPrivateKey;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Who signs the certificates of a job: a key of the job's own. Whoever holds it can make a
 * credential for any task, so it stays with the launcher or the person who starts the job.
 *
 * <p>Threading: any thread.
 */
public final class JobAuthority {
  /** How long what the launcher makes for one job is valid. */
  public static final Duration OF_A_JOB = Duration.ofDays(366);

  /** How long what a person makes is valid, unless they say otherwise. */
  public static final Duration OF_A_PERSON = Duration.ofDays(365);

  /** The name of a process that is no task and may open sessions. */
  public static final String CLIENT = "client";

  /** Clocks of hosts differ. */
  private static final Duration SKEW = Duration.ofHours(1);

  private static final String SHA256_ECDSA = "1.2.840.10045.4.3.2";
  private static final String SHA256_RSA = "1.2.840.113549.1.1.11";
  private static final String COMMON_NAME = "2.5.4.3";
  private static final String BASIC_CONSTRAINTS = "2.5.29.19";
  private static final String KEY_USAGE = "2.5.29.15";
  private static final String EXTENDED_KEY_USAGE = "2.5.29.37";
  private static final String ALTERNATIVE_NAMES = "2.5.29.17";
  private static final String SERVER = "1.3.6.1.5.5.7.3.1";
  private static final String CLIENT_USE = "1.3.6.1.5.5.7.3.2";
  private static final int URI = 6;
  private static final byte KEY_CERT_SIGN = 0x04;
  private static final byte DIGITAL_SIGNATURE = (byte) 0x80;
  private static final SecureRandom RANDOM = new SecureRandom();

  private final X509Certificate certificate;
  private final PrivateKey key;
  private final Map<String, Credential> issued = new ConcurrentHashMap<>();

  JobAuthority(X509Certificate certificate, PrivateKey key) {
    this.certificate = certificate;
    this.key = key;
  }

  /** Makes the authority of a new job. */
  public static JobAuthority create(Duration valid) {
    byte[] id = new byte[8];
    RANDOM.nextBytes(id);
    String name = "millrace-" + HexFormat.of().formatHex(id);
    KeyPair pair = newKey();
    X509Certificate c =
        sign(
            name,
            name,
            pair.getPublic(),
            pair.getPrivate(),
            valid,
            List.of(
                extension(BASIC_CONSTRAINTS, true, Der.sequence(Der.yes())),
                extension(KEY_USAGE, true, Der.bits(2, new byte[] {KEY_CERT_SIGN}))));
    return new JobAuthority(c, pair.getPrivate());
  }

  /** The job's name, which its certificates carry. */
  public String job() {
    return Credential.commonName(certificate);
  }

  X509Certificate certificate() {
    return certificate;
  }

  PrivateKey key() {
    return key;
  }

  /**
   * Makes a credential.
   *
   * @param name the task, such as {@code ps/0}, or {@link #CLIENT}
   */
  public Credential issue(String name, Duration valid) {
    if (!name.matches("[A-Za-z0-9_.-]+(/[0-9]+)?")) {
      throw MillraceException.invalid(
          "'%s' is no name for a credential. It must be a task, such as ps/0, or '%s'.",
          name, CLIENT);
    }
    KeyPair pair = newKey();
    byte[] uri = ("spiffe://" + job() + "/" + name).getBytes(StandardCharsets.US_ASCII);
    X509Certificate c =
        sign(
            job(),
            name,
            pair.getPublic(),
            key,
            valid,
            List.of(
                extension(KEY_USAGE, true, Der.bits(7, new byte[] {DIGITAL_SIGNATURE})),
                extension(
                    EXTENDED_KEY_USAGE, false, Der.sequence(Der.id(SERVER), Der.id(CLIENT_USE))),
                extension(ALTERNATIVE_NAMES, false, Der.sequence(Der.field(URI, uri)))));
    return Credential.of(List.of(c), pair.getPrivate(), List.of(certificate));
  }

  /** The credential of a task for as long as a job lasts; the same one for the same name. */
  public Credential issue(String name) {
    return issued.computeIfAbsent(name, n -> issue(n, OF_A_JOB));
  }

  private static KeyPair newKey() {
    try {
      KeyPairGenerator g = KeyPairGenerator.getInstance("EC");
      g.initialize(new ECGenParameterSpec("secp256r1"), RANDOM);
      return g.generateKeyPair();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  private static byte[] extension(String id, boolean critical, byte[] value) {
    return critical
        ? Der.sequence(Der.id(id), Der.yes(), Der.octets(value))
        : Der.sequence(Der.id(id), Der.octets(value));
  }

  private static byte[] name(String common) {
    return Der.sequence(Der.set(Der.sequence(Der.id(COMMON_NAME), Der.text(common))));
  }

  private static X509Certificate sign(
      String issuer,
      String subject,
      PublicKey subjectKey,
      PrivateKey issuerKey,
      Duration valid,
      List<byte[]> extensions) {
    Instant now = Context.current().timers().wallTime();
    byte[] algorithm = algorithm(issuerKey);
    List<byte[]> fields = new ArrayList<>();
    fields.add(Der.structure(0, Der.integer(2)));
    fields.add(Der.integer(new BigInteger(63, RANDOM).setBit(62)));
    fields.add(algorithm);
    fields.add(name(issuer));
    fields.add(Der.sequence(Der.time(now.minus(SKEW)), Der.time(now.plus(valid))));
    fields.add(name(subject));
    fields.add(subjectKey.getEncoded());
    fields.add(Der.structure(3, Der.sequence(extensions.toArray(new byte[0][]))));
    byte[] body = Der.sequence(fields.toArray(new byte[0][]));
    try {
      Signature s =
          Signature.getInstance(
              issuerKey instanceof RSAPrivateKey ? "SHA256withRSA" : "SHA256withECDSA");
      s.initSign(issuerKey, RANDOM);
      s.update(body);
      byte[] all = Der.sequence(body, algorithm, Der.bits(s.sign()));
      return (X509Certificate)
          CertificateFactory.getInstance("X.509")
              .generateCertificate(new ByteArrayInputStream(all));
    } catch (GeneralSecurityException e) {
      throw MillraceException.internal("A certificate could not be made: %s", e.getMessage());
    }
  }

  private static byte[] algorithm(PrivateKey key) {
    return switch (key) {
      case ECPrivateKey _ -> Der.sequence(Der.id(SHA256_ECDSA));
      case RSAPrivateKey _ -> Der.sequence(Der.id(SHA256_RSA), Der.nothing());
      default ->
          throw MillraceException.invalid(
              "An authority's key must be RSA or an elliptic-curve key; it is %s.",
              key.getAlgorithm());
    };
  }
}
