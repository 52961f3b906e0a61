package dev.millrace.tensor.math.complex;

/**
 * A complex number of double precision. Functions with several values give the principal one.
 *
 * @param re the real part
 * @param im the imaginary part
 */
public record Complex(double re, double im) {
  public static final Complex ZERO = new Complex(0, 0);
  public static final Complex ONE = new Complex(1, 0);
  private static final Complex I = new Complex(0, 1);

  /** From here on {@code 2 x} of the hyperbolic functions would overflow and the tangent is 1. */
  private static final double TANH_LIMIT = 350;

  /** {@code this + y}. */
  public Complex plus(Complex y) {
    return new Complex(re + y.re, im + y.im);
  }

  /** {@code this - y}. */
  public Complex minus(Complex y) {
    return new Complex(re - y.re, im - y.im);
  }

  /** {@code this * y}. */
  public Complex times(Complex y) {
    return new Complex(re * y.re - im * y.im, re * y.im + im * y.re);
  }

  /** {@code this * y}. */
  public Complex times(double y) {
    return new Complex(re * y, im * y);
  }

  /** {@code this / y}, scaled so that nothing overflows on the way. */
  public Complex over(Complex y) {
    if (Math.abs(y.re) >= Math.abs(y.im)) {
      double ratio = y.re == 0 ? 0 : y.im / y.re;
      double d = y.re + y.im * ratio;
      return new Complex((re + im * ratio) / d, (im - re * ratio) / d);
    }
    double ratio = y.re / y.im;
    double d = y.re * ratio + y.im;
    return new Complex((re * ratio + im) / d, (im * ratio - re) / d);
  }

  /** {@code -this}. */
  public Complex negated() {
    return new Complex(-re, -im);
  }

  /** The number with the other sign of its imaginary part. */
  public Complex conjugate() {
    return new Complex(re, -im);
  }

  /** The distance from 0. */
  public double abs() {
    return Math.hypot(re, im);
  }

  /** The direction from 0, between -pi and pi. */
  public double angle() {
    return Math.atan2(im, re);
  }

  /** Whether both parts are 0. */
  public boolean isZero() {
    return re == 0 && im == 0;
  }

  /** {@code this * this}. */
  public Complex squared() {
    return times(this);
  }

  /** {@code 1 / this}. */
  public Complex reciprocal() {
    return ONE.over(this);
  }

  /** The number of size 1 in the same direction; 0 of 0. */
  public Complex sign() {
    return isZero() ? ZERO : times(1 / abs());
  }

  /** The square root with a real part that is not negative. */
  public Complex sqrt() {
    if (isZero()) {
      return new Complex(0, im);
    }
    double size = Math.sqrt((Math.abs(re) + abs()) / 2);
    return re >= 0
        ? new Complex(size, im / (2 * size))
        : new Complex(Math.abs(im) / (2 * size), Math.copySign(size, im));
  }

  /** {@code e} to the power of this number. */
  public Complex exp() {
    double size = Math.exp(re);
    return im == 0 ? new Complex(size, im) : new Complex(size * Math.cos(im), size * Math.sin(im));
  }

  /** {@code e} to the power of this number, less 1, exact near 0. */
  public Complex expm1() {
    double half = Math.sin(im / 2);
    double real = Math.expm1(re) * Math.cos(im) - 2 * half * half;
    return new Complex(real, Math.exp(re) * Math.sin(im));
  }

  /** The natural logarithm. */
  public Complex log() {
    return new Complex(Math.log(abs()), angle());
  }

  /** The natural logarithm of this number plus 1, exact near 0. */
  public Complex log1p() {
    double size = 0.5 * Math.log1p(re * (2 + re) + im * im);
    return new Complex(size, Math.atan2(im, 1 + re));
  }

  /** This number to the power of {@code y}; 0 to any power but 0 is 0. */
  public Complex pow(Complex y) {
    if (isZero()) {
      return y.isZero() ? ONE : ZERO;
    }
    return log().times(y).exp();
  }

  /** The hyperbolic sine. */
  public Complex sinh() {
    return new Complex(Math.sinh(re) * Math.cos(im), Math.cosh(re) * Math.sin(im));
  }

  /** The hyperbolic cosine. */
  public Complex cosh() {
    return new Complex(Math.cosh(re) * Math.cos(im), Math.sinh(re) * Math.sin(im));
  }

  /** The hyperbolic tangent. */
  public Complex tanh() {
    if (Math.abs(re) > TANH_LIMIT) {
      return new Complex(Math.signum(re), 0);
    }
    double d = Math.cosh(2 * re) + Math.cos(2 * im);
    return new Complex(Math.sinh(2 * re) / d, Math.sin(2 * im) / d);
  }

  /** The sine. */
  public Complex sin() {
    return turned().sinh().turnedBack();
  }

  /** The cosine. */
  public Complex cos() {
    return turned().cosh();
  }

  /** The tangent. */
  public Complex tan() {
    return turned().tanh().turnedBack();
  }

  /** The inverse of the hyperbolic sine. */
  public Complex asinh() {
    return turned().asin().turnedBack();
  }

  /** The inverse of the hyperbolic cosine. */
  public Complex acosh() {
    Complex above = plus(ONE).sqrt();
    Complex below = minus(ONE).sqrt();
    return plus(above.times(below)).log();
  }

  /** The inverse of the hyperbolic tangent. */
  public Complex atanh() {
    return log1p().minus(negated().log1p()).times(0.5);
  }

  /** The inverse of the sine. */
  public Complex asin() {
    // By the parts, after Hull, Fairgrieve and Tang: no cancellation beside the real axis.
    Complex below = ONE.minus(this).sqrt();
    Complex above = ONE.plus(this).sqrt();
    double imaginary = below.conjugate().times(above).im;
    return new Complex(Math.atan2(re, below.times(above).re), asinh(imaginary));
  }

  /** The inverse of the cosine. */
  public Complex acos() {
    Complex below = ONE.minus(this).sqrt();
    Complex above = ONE.plus(this).sqrt();
    double imaginary = above.conjugate().times(below).im;
    return new Complex(2 * Math.atan2(below.re, above.re), asinh(imaginary));
  }

  /** The inverse of the tangent. */
  public Complex atan() {
    return turned().atanh().turnedBack();
  }

  /** {@code 1 / (1 + e^-this)}. */
  public Complex sigmoid() {
    return negated().exp().plus(ONE).reciprocal();
  }

  /** Times i: between circular and hyperbolic functions. */
  private Complex turned() {
    return times(I);
  }

  /** Divided by i. */
  private Complex turnedBack() {
    return new Complex(im, -re);
  }

  private static double asinh(double x) {
    double size = Math.abs(x);
    return Math.copySign(Math.log1p(size + size * size / (1 + Math.hypot(1, size))), x);
  }

  /** The parts as TensorFlow prints them. */
  @Override
  public String toString() {
    return "(" + re + "," + im + ")";
  }
}
