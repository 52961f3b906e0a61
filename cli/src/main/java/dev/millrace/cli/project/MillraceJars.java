package dev.millrace.cli.project;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;

/**
 * Millrace's own jars, which a Maven build outside of the source tree gets from a repository of
 * files. Their version there has a hash of their contents: Maven keeps what it has once seen of a
 * version, and other jars must not be taken for these.
 */
final class MillraceJars {
  /** A program needs these; the command line and what it brings stay out. */
  private static final String PROGRAM = "millrace-job";

  private static final String GROUP = "dev/millrace/";
  private static final String PARENT = "millrace";

  /** Where Maven leaves the pom in a jar. */
  private static final String MAVEN_FOLDER = "META-INF/maven/dev.millrace/";

  /** The pom of the source tree, which those in the jars inherit from. */
  private static final String PARENT_POM = "/META-INF/millrace/pom.xml";

  /** The jars by their artifact, in order. */
  private final Map<String, Path> jars;

  private final String built;
  private final String version;

  private MillraceJars(Map<String, Path> jars, String built, String version) {
    this.jars = jars;
    this.built = built;
    this.version = version;
  }

  /** The jars on a class path. */
  static MillraceJars on(String classPath) {
    Map<String, Path> found = new TreeMap<>();
    String built = null;
    for (String entry : classPath.split(File.pathSeparator)) {
      Path file = Path.of(entry);
      Properties p = Files.isRegularFile(file) ? coordinates(file) : null;
      if (p != null) {
        found.put(p.getProperty("artifactId"), file);
        built = p.getProperty("version");
      }
    }
    if (!found.containsKey(PROGRAM)) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION,
          "Millrace does not run from its jars here, and a project needs them: use the script"
              + " ./millrace of the source tree, or an image.");
    }
    found.keySet().removeIf(a -> a.equals("millrace-cli") || a.equals("millrace-examples"));
    String hash = hash(found).substring(0, 12);
    return new MillraceJars(found, built, built.replace("-SNAPSHOT", "") + "-" + hash);
  }

  /** What Maven wrote into a jar of ours; null for other jars. */
  private static Properties coordinates(Path jar) {
    String name = jar.getFileName().toString();
    if (!name.startsWith("millrace-") || !name.endsWith(".jar")) {
      return null;
    }
    try (JarFile file = new JarFile(jar.toFile())) {
      ZipEntry entry =
          file.stream()
              .filter(e -> e.getName().startsWith(MAVEN_FOLDER))
              .filter(e -> e.getName().endsWith("/pom.properties"))
              .findFirst()
              .orElse(null);
      if (entry == null) {
        return null;
      }
      Properties p = new Properties();
      try (InputStream in = file.getInputStream(entry)) {
        p.load(in);
      }
      return p;
    } catch (IOException e) {
      throw unreadable(jar, e);
    }
  }

  private static String hash(Map<String, Path> jars) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      for (Path jar : jars.values()) {
        digest.update(Files.readAllBytes(jar));
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (IOException e) {
      throw MillraceException.of(e);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The version of the jars in a repository that {@link #writeRepository} makes. */
  String version() {
    return version;
  }

  /** Writes the jars and their poms as Maven looks for them. */
  void writeRepository(Path repository) throws IOException {
    try (InputStream in = MillraceJars.class.getResourceAsStream(PARENT_POM)) {
      if (in == null) {
        throw new MillraceException(
            Code.INTERNAL, "The jar of the command line lacks " + PARENT_POM + ": build it again.");
      }
      writePom(repository, PARENT, in);
    }
    for (Map.Entry<String, Path> e : jars.entrySet()) {
      String artifact = e.getKey();
      Files.createDirectories(file(repository, artifact, "jar").getParent());
      Files.copy(e.getValue(), file(repository, artifact, "jar"));
      try (JarFile jar = new JarFile(e.getValue().toFile())) {
        ZipEntry pom = jar.getEntry(MAVEN_FOLDER + artifact + "/pom.xml");
        if (pom == null) {
          throw MillraceException.invalid("The jar %s has no pom.xml.", e.getValue());
        }
        try (InputStream in = jar.getInputStream(pom)) {
          writePom(repository, artifact, in);
        }
      }
    }
  }

  private void writePom(Path repository, String artifact, InputStream in) throws IOException {
    String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    Path file = file(repository, artifact, "pom");
    Files.createDirectories(file.getParent());
    Files.writeString(
        file,
        text.replace("<version>" + built + "</version>", "<version>" + version + "</version>"));
  }

  private Path file(Path repository, String artifact, String type) {
    return repository
        .resolve(GROUP + artifact)
        .resolve(version)
        .resolve(artifact + "-" + version + "." + type);
  }

  private static MillraceException unreadable(Path jar, IOException e) {
    return new MillraceException(Code.DATA_LOSS, "Cannot read " + jar + ": " + e.getMessage(), e);
  }
}
