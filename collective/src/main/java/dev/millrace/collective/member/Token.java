package dev.millrace.collective.member;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The secret the processes of one job share. It never goes over a connection: both ends prove that
 * they know it. Its text form stays out of logs and messages.
 */
public final class Token {
  private static final int RANDOM_BYTES = 16;

  private final String text;
  private final SecretKeySpec key;

  private Token(String text) {
    this.text = text;
    this.key = new SecretKeySpec(text.getBytes(StandardCharsets.UTF_8), "HmacSHA256");
  }

  /** A token nobody can guess. */
  public static Token random() {
    byte[] bytes = new byte[RANDOM_BYTES];
    new SecureRandom().nextBytes(bytes);
    return new Token(HexFormat.of().formatHex(bytes));
  }

  /** The token with this text, as it is handed from process to process. */
  public static Token of(String text) {
    if (text.isBlank()) {
      throw new IllegalArgumentException("a job token must not be blank");
    }
    return new Token(text.strip());
  }

  /** The text to be handed to another process of the job. */
  public String text() {
    return text;
  }

  /** What only somebody who knows the token can compute from a message. */
  byte[] sign(byte[] message) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(key);
      return mac.doFinal(message);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has HmacSHA256", e);
    }
  }

  /** Does not show the secret. */
  @Override
  public String toString() {
    return "a job token";
  }
}
