package dev.millrace.net;

import dev.millrace.base.MillraceException;
import java.io.ByteArrayInputStream;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Keys and certificates as text, as cert-manager, SPIFFE and OpenSSL write them. */
final class Pem {
  private static final Pattern BLOCK =
      Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \\1-----");
  private static final Base64.Encoder LINES = Base64.getMimeEncoder(64, new byte[] {'\n'});
  private static final String RSA = "1.2.840.113549.1.1.1";
  private static final String EC = "1.2.840.10045.2.1";

  /** The curves of keys for TLS. */
  private static final List<String> CURVES =
      List.of("1.2.840.10045.3.1.7", "1.3.132.0.34", "1.3.132.0.35");

  private Pem() {}

  static String of(X509Certificate c) {
    try {
      return block("CERTIFICATE", c.getEncoded());
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  static String of(PrivateKey key) {
    return block("PRIVATE KEY", key.getEncoded());
  }

  private static String block(String kind, byte[] bytes) {
    return "-----BEGIN "
        + kind
        + "-----\n"
        + LINES.encodeToString(bytes)
        + "\n-----END "
        + kind
        + "-----\n";
  }

  /** All certificates in a text, in order. */
  static List<X509Certificate> certificates(String text, String where) {
    List<X509Certificate> all = new ArrayList<>();
    Matcher m = BLOCK.matcher(text);
    while (m.find()) {
      if (m.group(1).equals("CERTIFICATE")) {
        try {
          all.add(
              (X509Certificate)
                  CertificateFactory.getInstance("X.509")
                      .generateCertificate(new ByteArrayInputStream(bytes(m.group(2)))));
        } catch (GeneralSecurityException | IllegalArgumentException e) {
          throw MillraceException.invalid(
              "A certificate in %s cannot be read: %s", where, e.getMessage());
        }
      }
    }
    return all;
  }

  /** The first private key in a text. */
  static PrivateKey key(String text, String where) {
    Matcher m = BLOCK.matcher(text);
    while (m.find()) {
      if (m.group(1).endsWith("PRIVATE KEY")) {
        try {
          byte[] bytes = bytes(m.group(2));
          PrivateKey key =
              switch (m.group(1)) {
                case "PRIVATE KEY" -> pkcs8(bytes);
                case "RSA PRIVATE KEY" ->
                    pkcs8(wrapped(Der.sequence(Der.id(RSA), Der.nothing()), bytes));
                case "EC PRIVATE KEY" -> ellipticCurve(bytes);
                default -> null;
              };
          if (key != null) {
            return key;
          }
        } catch (IllegalArgumentException e) {
          // Not Base64: refused below.
        }
        throw MillraceException.invalid(
            "The private key in %s, '%s', cannot be read. It must be an RSA or elliptic-curve key"
                + " that is not encrypted.",
            where, m.group(1));
      }
    }
    throw MillraceException.invalid("There is no private key in %s.", where);
  }

  private static byte[] bytes(String base64) {
    return Base64.getMimeDecoder().decode(base64);
  }

  private static byte[] wrapped(byte[] algorithm, byte[] key) {
    return Der.sequence(Der.integer(0), algorithm, Der.octets(key));
  }

  private static @Nullable PrivateKey ellipticCurve(byte[] sec1) {
    for (String curve : CURVES) {
      if (contains(sec1, Der.id(curve))) {
        return pkcs8(wrapped(Der.sequence(Der.id(EC), Der.id(curve)), sec1));
      }
    }
    return null;
  }

  private static boolean contains(byte[] all, byte[] part) {
    for (int i = 0; i + part.length <= all.length; i++) {
      if (java.util.Arrays.equals(all, i, i + part.length, part, 0, part.length)) {
        return true;
      }
    }
    return false;
  }

  /** A key of any kind that TLS uses, or null. */
  private static @Nullable PrivateKey pkcs8(byte[] bytes) {
    for (String algorithm : List.of("EC", "RSA", "Ed25519")) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(bytes));
      } catch (GeneralSecurityException e) {
        // Of another kind.
      }
    }
    return null;
  }
}
