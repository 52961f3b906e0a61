package dev.millrace.tensor.math;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.net.URL;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Finds oneDNN on the class path, unpacks it and loads it. */
final class OneDnnLibrary {
  private static final String FOLDER = "org/bytedeco/dnnl/linux-x86_64/";
  private static final String ONE_DNN = "libdnnl.so.3";
  private static final String OPEN_MP = "libgomp.so.1";
  private static final String OPEN_CL = "libOpenCL.so.1";

  /** OpenCL's answer where there is no platform to run on. */
  private static final int PLATFORM_NOT_FOUND = -1001;

  /** The functions of OpenCL that oneDNN is linked against, by OpenCL's version. */
  private static final Map<String, String> OPEN_CL_FUNCTIONS =
      Map.of(
          "OPENCL_1.0",
          """
          clBuildProgram clCreateBuffer clCreateCommandQueue clCreateContext clCreateKernel
          clCreateProgramWithBinary clCreateProgramWithSource clEnqueueCopyBuffer clEnqueueMapBuffer
          clEnqueueNDRangeKernel clEnqueueReadBuffer clEnqueueUnmapMemObject clEnqueueWriteBuffer
          clFinish clGetCommandQueueInfo clGetContextInfo clGetDeviceIDs clGetDeviceInfo
          clGetEventProfilingInfo clGetKernelInfo clGetMemObjectInfo clGetPlatformIDs
          clGetPlatformInfo clGetProgramBuildInfo clGetProgramInfo clReleaseCommandQueue
          clReleaseContext clReleaseEvent clReleaseKernel clReleaseMemObject clReleaseProgram
          clRetainCommandQueue clRetainContext clRetainEvent clRetainMemObject clSetKernelArg
          """,
          "OPENCL_1.1",
          "clCreateSubBuffer",
          "OPENCL_1.2",
          """
          clCreateSubDevices clEnqueueFillBuffer clEnqueueMarkerWithWaitList
          clGetExtensionFunctionAddressForPlatform clGetKernelArgInfo clReleaseDevice clRetainDevice
          """);

  private OneDnnLibrary() {}

  /** The functions of oneDNN, or null where the class path has none for this platform. */
  static SymbolLookup load() throws IOException {
    if (!System.getProperty("os.name").equals("Linux")
        || !System.getProperty("os.arch").equals("amd64")) {
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
    LibraryCache cache = LibraryCache.ofUser();
    Path folder = cache.unpacked(files);
    provideOpenCl(cache);
    return SymbolLookup.libraryLookup(folder.resolve(ONE_DNN), Arena.global());
  }

  /**
   * The artifact was built for GPUs too and does not load without the OpenCL loader, which few
   * servers have. Where it is missing, one that knows no platform takes its place.
   */
  private static void provideOpenCl(LibraryCache cache) throws IOException {
    try {
      SymbolLookup.libraryLookup(OPEN_CL, Arena.global());
    } catch (IllegalArgumentException missing) {
      SymbolLookup.libraryLookup(cache.file(OPEN_CL, openClStandIn()), Arena.global());
    }
  }

  static byte[] openClStandIn() {
    Map<String, List<String>> functions = new TreeMap<>();
    OPEN_CL_FUNCTIONS.forEach((v, names) -> functions.put(v, List.of(names.strip().split("\\s+"))));
    return StandInLibrary.of(OPEN_CL, functions, PLATFORM_NOT_FOUND);
  }
}
