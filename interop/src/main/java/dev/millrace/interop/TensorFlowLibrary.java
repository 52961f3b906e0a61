package dev.millrace.interop;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.net.JarURLConnection;
import java.net.URL;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * TensorFlow's C library, from the artifact {@code org.tensorflow:tensorflow-core-native} on the
 * class path: unpacked once per user, loaded once per process, called through the foreign function
 * API. Of the artifact only its two native libraries are used.
 *
 * <p>Threading: all methods may be called from any thread.
 */
final class TensorFlowLibrary {
  static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
  static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
  static final ValueLayout POINTER = ValueLayout.ADDRESS;

  private static final String FOLDER = "org/tensorflow/internal/c_api/linux-x86_64/";
  private static final String MAIN = "libtensorflow_cc.so.2";
  private static final String FRAMEWORK = "libtensorflow_framework.so.2";

  private static final Linker LINKER = Linker.nativeLinker();
  private static final SymbolLookup SYMBOLS = load();

  private TensorFlowLibrary() {}

  /** A call of C that gives a value. */
  @FunctionalInterface
  interface Call<T> {
    T call() throws Throwable;
  }

  /**
   * A call of C that gives nothing. It must be a lambda with braces: without them the compiler
   * takes the downcall for one that returns an object.
   */
  @FunctionalInterface
  interface Action {
    void run() throws Throwable;
  }

  /** The C function of this name and signature. */
  static MethodHandle function(String name, MemoryLayout result, MemoryLayout... arguments) {
    return LINKER.downcallHandle(find(name), FunctionDescriptor.of(result, arguments));
  }

  /** The C function of this name and signature that returns nothing. */
  static MethodHandle procedure(String name, MemoryLayout... arguments) {
    return LINKER.downcallHandle(find(name), FunctionDescriptor.ofVoid(arguments));
  }

  /** A C function pointer, valid for ever, that calls {@code target}. */
  static MemorySegment callback(MethodHandle target, MemoryLayout... arguments) {
    return LINKER.upcallStub(target, FunctionDescriptor.ofVoid(arguments), Arena.global());
  }

  /** What {@code call} returns; a downcall itself does not throw. */
  static <T> T get(Call<T> call) {
    try {
      return call.call();
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  static void run(Action action) {
    try {
      action.run();
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  /** The string at this address, which ends with a zero byte. */
  static String string(MemorySegment address) {
    return address.reinterpret(Long.MAX_VALUE).getString(0);
  }

  private static MemorySegment find(String name) {
    return SYMBOLS
        .find(name)
        .orElseThrow(() -> new UnsatisfiedLinkError("no " + name + " in " + MAIN));
  }

  private static SymbolLookup load() {
    quietUnlessAsked();
    try {
      return SymbolLookup.libraryLookup(unpacked(), Arena.global());
    } catch (IOException e) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION, "TensorFlow's C library cannot be unpacked: " + e, e);
    }
  }

  /**
   * TensorFlow logs to standard error from its first call on, unless the environment says not. What
   * matters reaches the caller as an error anyway.
   */
  private static void quietUnlessAsked() {
    MethodHandle setenv =
        LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("setenv"),
            FunctionDescriptor.of(INT, POINTER, POINTER, INT));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom("TF_CPP_MIN_LOG_LEVEL");
      MemorySegment fatalOnly = arena.allocateFrom("3");
      run(
          () -> {
            int _ = (int) setenv.invokeExact(name, fatalOnly, 0);
          });
    }
  }

  private static Path unpacked() throws IOException {
    URL url = TensorFlowLibrary.class.getClassLoader().getResource(FOLDER + MAIN);
    if (url == null || !(url.openConnection() instanceof JarURLConnection jar)) {
      throw MillraceException.failedPrecondition(
          "TensorFlow's C library is not on the class path. Need"
              + " org.tensorflow:tensorflow-core-native with classifier linux-x86_64; other"
              + " platforms are not supported by these tests.");
    }
    Path folder =
        Caches.folder().resolve("tensorflow-" + Long.toHexString(jar.getJarEntry().getCrc()));
    Files.createDirectories(folder);
    try (FileChannel channel =
            FileChannel.open(
                folder.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock = channel.lock()) {
      assert lock.isValid();
      unpack(FRAMEWORK, folder);
      unpack(MAIN, folder);
    }
    return folder.resolve(MAIN);
  }

  private static void unpack(String name, Path folder) throws IOException {
    Path library = folder.resolve(name);
    if (Files.exists(library)) {
      return;
    }
    Path part = folder.resolve(name + ".part");
    try (InputStream in =
        TensorFlowLibrary.class.getClassLoader().getResourceAsStream(FOLDER + name)) {
      Files.copy(in, part, StandardCopyOption.REPLACE_EXISTING);
    }
    Files.move(part, library, StandardCopyOption.ATOMIC_MOVE);
  }
}
