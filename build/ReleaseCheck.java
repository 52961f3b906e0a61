import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * Checks a release that {@code build/check-release} has built twice, and packs it. The rules are
 * those that Maven Central publishes: files, checksums, signatures, coordinates, metadata.
 */
public final class ReleaseCheck {
  private static final String GROUP = "dev.millrace";
  private static final List<String> NEEDED =
      List.of(
          "name",
          "description",
          "url",
          "licenses/license/name",
          "licenses/license/url",
          "developers/developer/name",
          "developers/developer/email",
          "developers/developer/organization",
          "developers/developer/organizationUrl",
          "scm/connection",
          "scm/developerConnection",
          "scm/url");

  private final String version;
  private final Path first;
  private final boolean signed;
  private final List<String> findings = new ArrayList<>();
  private final Map<String, Element> poms = new TreeMap<>();
  private int rules;

  private ReleaseCheck(String version, Path first, boolean signed) {
    this.version = version;
    this.first = first;
    this.signed = signed;
  }

  /** Arguments: the version, the folder with both builds, and "signed" or nothing. */
  public static void main(String[] args) throws Exception {
    Path out = Path.of(args[1]);
    boolean signed = args.length > 2 && args[2].equals("signed");
    ReleaseCheck check = new ReleaseCheck(args[0], out.resolve("first"), signed);
    check.artifacts();
    check.bom();
    check.equals(out.resolve("second"));
    if (!check.findings.isEmpty()) {
      check.findings.forEach(f -> System.err.println("BAD  " + f));
      System.err.println(check.findings.size() + " findings in " + check.rules + " checks.");
      System.exit(1);
    }
    Path bundle = out.resolve("millrace-" + args[0] + "-bundle.zip");
    check.pack(bundle);
    System.out.printf(
        "%d checks of %d artifacts passed; two builds are equal. %s, %d MB: %s%n",
        check.rules,
        check.poms.size(),
        bundle,
        Files.size(bundle) >> 20,
        signed ? "signed." : "NOT SIGNED. Maven Central wants signatures: set GPG_KEY.");
  }

  private void need(boolean holds, String finding, Object... args) {
    rules++;
    if (!holds) {
      findings.add(finding.formatted(args));
    }
  }

  private List<Path> files(Path root, Predicate<String> names) throws IOException {
    try (Stream<Path> all = Files.walk(root)) {
      return all.filter(Files::isRegularFile)
          .filter(f -> names.test(f.getFileName().toString()))
          .sorted()
          .toList();
    }
  }

  /** Whether a file is what a user downloads, rather than its checksum or the repository's own. */
  private static boolean isContent(String name) {
    return !name.startsWith("maven-metadata") && !name.matches(".*\\.(md5|sha1|sha256|sha512|asc)");
  }

  private void artifacts() throws Exception {
    for (Path pom : files(first, name -> name.endsWith(".pom"))) {
      Element project =
          DocumentBuilderFactory.newInstance()
              .newDocumentBuilder()
              .parse(pom.toFile())
              .getDocumentElement();
      poms.put(pom.getParent().getParent().getFileName().toString(), project);
    }
    need(poms.size() > 10, "only %d poms in %s", poms.size(), first);
    for (Map.Entry<String, Element> e : poms.entrySet()) {
      artifact(e.getKey(), e.getValue());
    }
    for (Path file : files(first, ReleaseCheck::isContent)) {
      for (String kind : List.of("md5", "sha1")) {
        Path sum = Path.of(file + "." + kind);
        need(
            Files.exists(sum) && Files.readString(sum).strip().equals(hash(file, kind)),
            "%s: missing or wrong",
            sum);
      }
      need(!signed || Files.size(Path.of(file + ".asc")) > 0, "%s is not signed", file);
    }
  }

  private void artifact(String artifact, Element pom) throws IOException {
    Path folder = first.resolve(GROUP.replace('.', '/')).resolve(artifact).resolve(version);
    String base = artifact + "-" + version;
    need(Files.exists(folder.resolve(base + ".pom")), "%s: no pom in %s", artifact, folder);
    need(artifact.equals(text(pom, "artifactId")), "%s: another artifactId", artifact);
    need(GROUP.equals(inherited(pom, "groupId")), "%s: another groupId", artifact);
    need(version.equals(inherited(pom, "version")), "%s: another version", artifact);
    for (String field : NEEDED) {
      need(!inherited(pom, field).isBlank(), "%s: the pom has no %s", artifact, field);
    }
    String all = pom.getTextContent();
    need(!all.contains("SNAPSHOT"), "%s: the pom names a SNAPSHOT", artifact);
    var dependencies = pom.getElementsByTagName("dependency");
    for (int i = 0; i < dependencies.getLength(); i++) {
      String wanted = text((Element) dependencies.item(i), "version");
      need(!wanted.matches("[\\[(].*"), "%s: a range of versions: %s", artifact, wanted);
    }
    need(
        pom.getElementsByTagName("repositories").getLength() == 0,
        "%s: the pom names a repository",
        artifact);
    if (text(pom, "packaging").equals("pom")) {
      return;
    }
    jar(folder.resolve(base + ".jar"), "module-info.class");
    jar(folder.resolve(base + ".jar"), "META-INF/MANIFEST.MF");
    jar(folder.resolve(base + "-sources.jar"), "module-info.java");
    jar(folder.resolve(base + "-javadoc.jar"), "index.html");
  }

  private void jar(Path file, String entry) throws IOException {
    need(Files.exists(file), "%s is missing", file);
    if (Files.exists(file)) {
      try (ZipFile zip = new ZipFile(file.toFile())) {
        need(zip.getEntry(entry) != null, "%s has no %s", file, entry);
      }
    }
  }

  /** The BOM names each module that has a jar, and no other. */
  private void bom() {
    TreeSet<String> jars = new TreeSet<>(poms.keySet());
    jars.removeIf(a -> text(poms.get(a), "packaging").equals("pom"));
    TreeSet<String> named = new TreeSet<>();
    Element bom = poms.get("millrace-bom");
    need(bom != null, "there is no millrace-bom");
    if (bom != null) {
      var all = bom.getElementsByTagName("dependency");
      for (int i = 0; i < all.getLength(); i++) {
        named.add(text((Element) all.item(i), "artifactId"));
      }
      need(named.equals(jars), "the BOM names %s, the release has %s", named, jars);
    }
  }

  /** The text at a path of elements; empty if there is none. */
  private static String text(Element from, String path) {
    Element at = from;
    for (String name : path.split("/")) {
      Element next = null;
      for (Node n = at.getFirstChild(); n != null && next == null; n = n.getNextSibling()) {
        if (n instanceof Element e && e.getTagName().equals(name)) {
          next = e;
        }
      }
      if (next == null) {
        return "";
      }
      at = next;
    }
    return at.getTextContent().strip();
  }

  /** The same, from the parent where the pom has none; names and descriptions do not pass on. */
  private String inherited(Element pom, String path) {
    String own = text(pom, path);
    Element parent = poms.get(text(pom, "parent/artifactId"));
    boolean passes = !path.equals("name") && !path.equals("description");
    return own.isEmpty() && parent != null && passes ? inherited(parent, path) : own;
  }

  /** The second build has the same files with the same bytes. */
  private void equals(Path second) throws Exception {
    Predicate<String> content = ReleaseCheck::isContent;
    List<Path> mine = files(first, content).stream().map(first::relativize).toList();
    List<Path> theirs = files(second, content).stream().map(second::relativize).toList();
    need(mine.equals(theirs), "the builds have other files: %s and %s", mine, theirs);
    for (Path file : mine) {
      Path other = second.resolve(file);
      if (Files.exists(other)) {
        need(
            Files.mismatch(first.resolve(file), other) < 0,
            "%s differs between two builds: %s",
            file,
            differences(first.resolve(file), other));
      }
    }
  }

  private static String differences(Path a, Path b) throws IOException {
    if (!a.toString().endsWith(".jar")) {
      return "at byte " + Files.mismatch(a, b);
    }
    List<String> found = new ArrayList<>();
    try (ZipFile one = new ZipFile(a.toFile());
        ZipFile two = new ZipFile(b.toFile())) {
      for (ZipEntry e : one.stream().map(ZipEntry.class::cast).toList()) {
        ZipEntry other = two.getEntry(e.getName());
        if (other == null || other.getCrc() != e.getCrc() || other.getTime() != e.getTime()) {
          found.add(e.getName());
        }
      }
    }
    return found.stream().limit(5).toList().toString();
  }

  private static String hash(Path file, String kind) throws Exception {
    MessageDigest digest = MessageDigest.getInstance(kind.equals("md5") ? "MD5" : "SHA-1");
    try (InputStream in = Files.newInputStream(file)) {
      byte[] part = new byte[1 << 16];
      for (int n = in.read(part); n >= 0; n = in.read(part)) {
        digest.update(part, 0, n);
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  private void pack(Path bundle) throws IOException {
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(bundle))) {
      for (Path file : files(first, name -> !name.startsWith("maven-metadata"))) {
        zip.putNextEntry(new ZipEntry(first.relativize(file).toString()));
        Files.copy(file, zip);
      }
    }
  }
}
