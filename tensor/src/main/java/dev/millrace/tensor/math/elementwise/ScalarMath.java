package dev.millrace.tensor.math.elementwise;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The functions, relations and kinds of {@link Formula} for single elements, each under its name
 * there. They are called by the code that {@link ScalarLoops} makes.
 */
@SuppressWarnings("unused") // By generated code.
final class ScalarMath {
  private ScalarMath() {}

  static boolean flag(MemorySegment memory, long at) {
    return memory.get(ValueLayout.JAVA_BYTE, at) != 0;
  }

  static void setFlag(MemorySegment memory, long at, boolean value) {
    memory.set(ValueLayout.JAVA_BYTE, at, (byte) (value ? 1 : 0));
  }

  static float choose(boolean test, float yes, float no) {
    return test ? yes : no;
  }

  static float add(float x, float y) {
    return x + y;
  }

  static float sub(float x, float y) {
    return x - y;
  }

  static float mul(float x, float y) {
    return x * y;
  }

  static float div(float x, float y) {
    return x / y;
  }

  static float min(float x, float y) {
    return Math.min(x, y);
  }

  static float max(float x, float y) {
    return Math.max(x, y);
  }

  static float neg(float x) {
    return -x;
  }

  static float abs(float x) {
    return Math.abs(x);
  }

  static boolean eq(float x, float y) {
    return x == y;
  }

  static boolean ne(float x, float y) {
    return x != y;
  }

  static boolean lt(float x, float y) {
    return x < y;
  }

  static boolean le(float x, float y) {
    return x <= y;
  }

  static boolean gt(float x, float y) {
    return x > y;
  }

  static boolean ge(float x, float y) {
    return x >= y;
  }

  static double choose(boolean test, double yes, double no) {
    return test ? yes : no;
  }

  static double add(double x, double y) {
    return x + y;
  }

  static double sub(double x, double y) {
    return x - y;
  }

  static double mul(double x, double y) {
    return x * y;
  }

  static double div(double x, double y) {
    return x / y;
  }

  static double min(double x, double y) {
    return Math.min(x, y);
  }

  static double max(double x, double y) {
    return Math.max(x, y);
  }

  static double neg(double x) {
    return -x;
  }

  static double abs(double x) {
    return Math.abs(x);
  }

  static boolean eq(double x, double y) {
    return x == y;
  }

  static boolean ne(double x, double y) {
    return x != y;
  }

  static boolean lt(double x, double y) {
    return x < y;
  }

  static boolean le(double x, double y) {
    return x <= y;
  }

  static boolean gt(double x, double y) {
    return x > y;
  }

  static boolean ge(double x, double y) {
    return x >= y;
  }

  static int choose(boolean test, int yes, int no) {
    return test ? yes : no;
  }

  static int add(int x, int y) {
    return x + y;
  }

  static int sub(int x, int y) {
    return x - y;
  }

  static int mul(int x, int y) {
    return x * y;
  }

  static int div(int x, int y) {
    return x / y;
  }

  static int min(int x, int y) {
    return Math.min(x, y);
  }

  static int max(int x, int y) {
    return Math.max(x, y);
  }

  static int neg(int x) {
    return -x;
  }

  static int abs(int x) {
    return Math.abs(x);
  }

  static boolean eq(int x, int y) {
    return x == y;
  }

  static boolean ne(int x, int y) {
    return x != y;
  }

  static boolean lt(int x, int y) {
    return x < y;
  }

  static boolean le(int x, int y) {
    return x <= y;
  }

  static boolean gt(int x, int y) {
    return x > y;
  }

  static boolean ge(int x, int y) {
    return x >= y;
  }

  static long choose(boolean test, long yes, long no) {
    return test ? yes : no;
  }

  static long add(long x, long y) {
    return x + y;
  }

  static long sub(long x, long y) {
    return x - y;
  }

  static long mul(long x, long y) {
    return x * y;
  }

  static long div(long x, long y) {
    return x / y;
  }

  static long min(long x, long y) {
    return Math.min(x, y);
  }

  static long max(long x, long y) {
    return Math.max(x, y);
  }

  static long neg(long x) {
    return -x;
  }

  static long abs(long x) {
    return Math.abs(x);
  }

  static boolean eq(long x, long y) {
    return x == y;
  }

  static boolean ne(long x, long y) {
    return x != y;
  }

  static boolean lt(long x, long y) {
    return x < y;
  }

  static boolean le(long x, long y) {
    return x <= y;
  }

  static boolean gt(long x, long y) {
    return x > y;
  }

  static boolean ge(long x, long y) {
    return x >= y;
  }

  static int and(int x, int y) {
    return x & y;
  }

  static int or(int x, int y) {
    return x | y;
  }

  static int xor(int x, int y) {
    return x ^ y;
  }

  static boolean ult(int x, int y) {
    return Integer.compareUnsigned(x, y) < 0;
  }

  static boolean ule(int x, int y) {
    return Integer.compareUnsigned(x, y) <= 0;
  }

  static boolean ugt(int x, int y) {
    return Integer.compareUnsigned(x, y) > 0;
  }

  static boolean uge(int x, int y) {
    return Integer.compareUnsigned(x, y) >= 0;
  }

  static int umin(int x, int y) {
    return ult(x, y) ? x : y;
  }

  static int umax(int x, int y) {
    return ugt(x, y) ? x : y;
  }

  static long and(long x, long y) {
    return x & y;
  }

  static long or(long x, long y) {
    return x | y;
  }

  static long xor(long x, long y) {
    return x ^ y;
  }

  static boolean ult(long x, long y) {
    return Long.compareUnsigned(x, y) < 0;
  }

  static boolean ule(long x, long y) {
    return Long.compareUnsigned(x, y) <= 0;
  }

  static boolean ugt(long x, long y) {
    return Long.compareUnsigned(x, y) > 0;
  }

  static boolean uge(long x, long y) {
    return Long.compareUnsigned(x, y) >= 0;
  }

  static long umin(long x, long y) {
    return ult(x, y) ? x : y;
  }

  static long umax(long x, long y) {
    return ugt(x, y) ? x : y;
  }

  static boolean is_nan(float x) {
    return Float.isNaN(x);
  }

  static boolean is_infinite(float x) {
    return Float.isInfinite(x);
  }

  static boolean is_finite(float x) {
    return Float.isFinite(x);
  }

  static float sqrt(float x) {
    return (float) Math.sqrt(x);
  }

  static float exp(float x) {
    return (float) Math.exp(x);
  }

  static float expm1(float x) {
    return (float) Math.expm1(x);
  }

  static float log(float x) {
    return (float) Math.log(x);
  }

  static float log1p(float x) {
    return (float) Math.log1p(x);
  }

  static float sin(float x) {
    return (float) Math.sin(x);
  }

  static float cos(float x) {
    return (float) Math.cos(x);
  }

  static float tan(float x) {
    return (float) Math.tan(x);
  }

  static float asin(float x) {
    return (float) Math.asin(x);
  }

  static float acos(float x) {
    return (float) Math.acos(x);
  }

  static float atan(float x) {
    return (float) Math.atan(x);
  }

  static float sinh(float x) {
    return (float) Math.sinh(x);
  }

  static float cosh(float x) {
    return (float) Math.cosh(x);
  }

  static float tanh(float x) {
    return (float) Math.tanh(x);
  }

  static float pow(float x, float y) {
    return (float) Math.pow(x, y);
  }

  static float atan2(float x, float y) {
    return (float) Math.atan2(x, y);
  }

  static boolean is_nan(double x) {
    return Double.isNaN(x);
  }

  static boolean is_infinite(double x) {
    return Double.isInfinite(x);
  }

  static boolean is_finite(double x) {
    return Double.isFinite(x);
  }

  static double sqrt(double x) {
    return Math.sqrt(x);
  }

  static double exp(double x) {
    return Math.exp(x);
  }

  static double expm1(double x) {
    return Math.expm1(x);
  }

  static double log(double x) {
    return Math.log(x);
  }

  static double log1p(double x) {
    return Math.log1p(x);
  }

  static double sin(double x) {
    return Math.sin(x);
  }

  static double cos(double x) {
    return Math.cos(x);
  }

  static double tan(double x) {
    return Math.tan(x);
  }

  static double asin(double x) {
    return Math.asin(x);
  }

  static double acos(double x) {
    return Math.acos(x);
  }

  static double atan(double x) {
    return Math.atan(x);
  }

  static double sinh(double x) {
    return Math.sinh(x);
  }

  static double cosh(double x) {
    return Math.cosh(x);
  }

  static double tanh(double x) {
    return Math.tanh(x);
  }

  static double pow(double x, double y) {
    return Math.pow(x, y);
  }

  static double atan2(double x, double y) {
    return Math.atan2(x, y);
  }
}
