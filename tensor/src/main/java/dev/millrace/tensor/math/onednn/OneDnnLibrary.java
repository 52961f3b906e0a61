package dev.millrace.tensor.math.onednn;

import dev.millrace.base.ProcessEnvironment;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReader;
import java.lang.module.ModuleReference;
import java.net.URI;
import java.net.URL;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Finds oneDNN on the class path or the module path, unpacks it and loads it. */
final class OneDnnLibrary {
  private static final String MODULE = "org.bytedeco.dnnl.linux.x86_64";
  private static final String FOLDER = "org/bytedeco/dnnl/linux-x86_64/";
  private static final String ONE_DNN = "libdnnl.so.3";
  private static final String OPEN_MP = "libgomp.so.1";

  private OneDnnLibrary() {}

  /** The functions of oneDNN, or null where neither path has it for this platform. */
  static SymbolLookup load() throws IOException {
    if (!ProcessEnvironment.isLinux() || !ProcessEnvironment.isX64()) {
      return null;
    }
    List<URL> files = onClassPath();
    if (files.isEmpty()) {
      files = onModulePath();
    }
    if (files.isEmpty()) {
      return null;
    }
    Path folder = LibraryCache.ofUser().unpacked(files);
    return SymbolLookup.libraryLookup(folder.resolve(ONE_DNN), Arena.global());
  }

  /** The two files of the library, or none. */
  private static List<URL> onClassPath() {
    List<URL> files = new ArrayList<>();
    for (String file : List.of(ONE_DNN, OPEN_MP)) {
      URL url = OneDnnLibrary.class.getClassLoader().getResource(FOLDER + file);
      if (url == null) {
        return List.of();
      }
      files.add(url);
    }
    return files;
  }

  /**
   * The same from the module path. The module need not be part of the program: no module requires
   * it, because other platforms do without it.
   */
  private static List<URL> onModulePath() throws IOException {
    String path = ProcessEnvironment.modulePath();
    if (path == null) {
      return List.of();
    }
    Path[] entries =
        Stream.of(path.split(Pattern.quote(File.pathSeparator)))
            .filter(entry -> !entry.isEmpty())
            .map(Path::of)
            .toArray(Path[]::new);
    Optional<ModuleReference> module = ModuleFinder.of(entries).find(MODULE);
    if (module.isEmpty()) {
      return List.of();
    }
    List<URL> files = new ArrayList<>();
    try (ModuleReader reader = module.get().open()) {
      for (String file : List.of(ONE_DNN, OPEN_MP)) {
        Optional<URI> uri = reader.find(FOLDER + file);
        if (uri.isEmpty()) {
          return List.of();
        }
        files.add(uri.get().toURL());
      }
    }
    return files;
  }
}
