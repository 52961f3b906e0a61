/** TFRecord files and event files. */
@NullMarked
package dev.millrace.storage.record;

import org.jspecify.annotations.NullMarked;
