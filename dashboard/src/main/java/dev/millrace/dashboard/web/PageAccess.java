package dev.millrace.dashboard.web;

import com.sun.net.httpserver.HttpExchange;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Who may see the page: whoever knows its key. The address that is printed has the key; the first
 * visit exchanges it for a cookie. Programs send it as a bearer token. All requests are checked
 * here, and nowhere else.
 *
 * <p>A page of another origin can make a browser send requests, but neither knows the key nor gets
 * the cookie sent, which is for this site alone. A host name that was made to point to this machine
 * is refused, since the host of a request must be a loopback address.
 *
 * <p>Threading: any thread.
 */
final class PageAccess {
  private static final Set<String> HOSTS = Set.of("127.0.0.1", "localhost", "[::1]");
  private static final String COOKIE = "millrace_key_";
  private static final String BEARER = "Bearer ";

  /** What to do with a request. */
  enum Answer {
    /** It may see what it asks for. */
    WELCOME,
    /** It has the key in its address: it gets the cookie, and the address without the key. */
    EXCHANGE,
    /** It may see nothing. */
    REFUSED
  }

  private final String key;
  private final int port;

  /** Access by a key that nobody can guess, to a page on this port. */
  PageAccess(RandomGenerator secureRandom, int port) {
    byte[] bytes = new byte[16];
    secureRandom.nextBytes(bytes);
    this.key = HexFormat.of().formatHex(bytes);
    this.port = port;
  }

  /** The address of the page with its key. */
  String address() {
    return "http://127.0.0.1:" + port + "/?key=" + key;
  }

  /** The key, for programs. */
  String key() {
    return key;
  }

  /** The cookie that admits a browser; each port has its own, as cookies do not know ports. */
  String cookie() {
    return COOKIE + port + "=" + key + "; Path=/; HttpOnly; SameSite=Strict";
  }

  Answer check(HttpExchange request) {
    String host = request.getRequestHeaders().getFirst("Host");
    if (host == null || !HOSTS.contains(host.replaceFirst(":\\d+$", ""))) {
      return Answer.REFUSED;
    }
    String query = request.getRequestURI().getRawQuery();
    if (query != null && query.startsWith("key=") && isKey(query.substring(4))) {
      return Answer.EXCHANGE;
    }
    String authorization = request.getRequestHeaders().getFirst("Authorization");
    if (authorization != null
        && authorization.startsWith(BEARER)
        && isKey(authorization.substring(BEARER.length()).strip())) {
      return Answer.WELCOME;
    }
    String name = COOKIE + port + "=";
    for (String header : request.getRequestHeaders().getOrDefault("Cookie", java.util.List.of())) {
      for (String cookie : header.split(";", -1)) {
        if (cookie.strip().startsWith(name) && isKey(cookie.strip().substring(name.length()))) {
          return Answer.WELCOME;
        }
      }
    }
    return Answer.REFUSED;
  }

  private boolean isKey(String given) {
    return MessageDigest.isEqual(
        given.getBytes(StandardCharsets.UTF_8), key.getBytes(StandardCharsets.UTF_8));
  }
}
