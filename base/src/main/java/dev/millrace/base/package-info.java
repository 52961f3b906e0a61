/**
 * What every other module stands on: {@link dev.millrace.base.Code error codes}, {@link
 * dev.millrace.base.MillraceException the one exception}, and {@link dev.millrace.base.Cancellation
 * cancellation}.
 */
@NullMarked
package dev.millrace.base;

import org.jspecify.annotations.NullMarked;
