package dev.millrace.tensor.math.onednn;

import dev.millrace.base.ProcessEnvironment;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.net.URL;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Finds oneDNN on the class path, unpacks it and loads it. */
final class OneDnnLibrary {
  private static final String FOLDER = "org/bytedeco/dnnl/linux-x86_64/";
  private static final String ONE_DNN = "libdnnl.so.3";
  private static final String OPEN_MP = "libgomp.so.1";

  private OneDnnLibrary() {}

  /** The functions of oneDNN, or null where the class path has none for this platform. */
  static SymbolLookup load() throws IOException {
    if (!ProcessEnvironment.isLinux() || !ProcessEnvironment.isX64()) {
      return null;
    }
    List<URL> files = new ArrayList<>();
    for (String file : List.of(ONE_DNN, OPEN_MP)) {
      URL url = OneDnnLibrary.class.getClassLoader().getResource(FOLDER + file);
      if (url == null) {
        return null;
      }
      files.add(url);
    }
    Path folder = LibraryCache.ofUser().unpacked(files);
    return SymbolLookup.libraryLookup(folder.resolve(ONE_DNN), Arena.global());
  }
}
