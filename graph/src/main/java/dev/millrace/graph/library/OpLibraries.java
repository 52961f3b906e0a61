package dev.millrace.graph.library;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Fusion;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpFamily;
import dev.millrace.graph.OpRegistry;
import java.io.UncheckedIOException;
import java.net.URL;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.stream.Collectors;

/**
 * Adds the {@link OpLibrary} services of a class loader to a registry. Every failure names the
 * library and the jar, since the person who reads it has rarely written either.
 */
public final class OpLibraries {
  private final OpRegistry builtIn;

  /** Which library defines an op, by the op's name. */
  private final Map<String, String> definedBy = new HashMap<>();

  private final List<Op> ops = new ArrayList<>();
  private final List<OpFamily> families = new ArrayList<>();
  private final List<Fusion> fusions = new ArrayList<>();

  private OpLibraries(OpRegistry builtIn) {
    this.builtIn = builtIn;
    fusions.addAll(builtIn.fusions());
  }

  /**
   * The ops of {@code builtIn} and those of every {@link OpLibrary} that {@code loader} sees. Fails
   * with FAILED_PRECONDITION, naming the jars, if a library cannot be loaded or defines an op that
   * exists already.
   */
  public static OpRegistry addTo(OpRegistry builtIn, ClassLoader loader) {
    OpLibraries all = new OpLibraries(builtIn);
    Iterator<ServiceLoader.Provider<OpLibrary>> found =
        ServiceLoader.load(OpLibrary.class, loader).stream().iterator();
    boolean any = false;
    while (true) {
      ServiceLoader.Provider<OpLibrary> provider;
      try {
        if (!found.hasNext()) {
          break;
        }
        provider = found.next();
      } catch (ServiceConfigurationError | LinkageError e) {
        throw failure(
            "An op library cannot be loaded: "
                + e.getMessage()
                + ". Op libraries are named in "
                + declarations(loader),
            e);
      }
      all.add(provider);
      any = true;
    }
    return any
        ? builtIn.with(all.ops).withFamilies(all.families).withFusions(all.fusions)
        : builtIn;
  }

  private void add(ServiceLoader.Provider<OpLibrary> provider) {
    String origin = origin(provider.type());
    List<Op> someOps;
    List<OpFamily> someFamilies;
    try {
      OpLibrary library = provider.get();
      someOps = List.copyOf(library.ops());
      someFamilies = List.copyOf(library.families());
      fusions.addAll(library.fusions());
    } catch (RuntimeException | ServiceConfigurationError | LinkageError e) {
      boolean wrapped = e instanceof ServiceConfigurationError && e.getCause() != null;
      throw failure("Op library " + origin + " failed: " + (wrapped ? e.getCause() : e), e);
    }
    someOps.forEach(op -> claim(op.name(), origin));
    someFamilies.forEach(family -> family.names().forEach(name -> claim(name, origin)));
    ops.addAll(someOps);
    families.addAll(someFamilies);
  }

  private void claim(String name, String origin) {
    if (builtIn.has(name)) {
      throw failure(
          "Op '" + name + "' of library " + origin + " is one of Millrace's own ops. Rename it",
          null);
    }
    String other = definedBy.putIfAbsent(name, origin);
    if (other != null) {
      throw failure(
          other.equals(origin)
              ? "Library " + origin + " defines op '" + name + "' twice"
              : "Op '"
                  + name
                  + "' is defined by two libraries: "
                  + other
                  + " and "
                  + origin
                  + ". Keep one of the jars",
          null);
    }
  }

  private static MillraceException failure(String message, Throwable cause) {
    return new MillraceException(Code.FAILED_PRECONDITION, message + ".", cause);
  }

  private static String origin(Class<?> type) {
    CodeSource source = type.getProtectionDomain().getCodeSource();
    return type.getName()
        + (source == null || source.getLocation() == null
            ? ""
            : " (" + source.getLocation().getPath() + ")");
  }

  private static String declarations(ClassLoader loader) {
    String file = "META-INF/services/" + OpLibrary.class.getName();
    try {
      return loader.resources(file).map(URL::toString).collect(Collectors.joining(", "));
    } catch (UncheckedIOException e) {
      return file;
    }
  }
}
