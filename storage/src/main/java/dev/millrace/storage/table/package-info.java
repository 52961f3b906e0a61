/** Immutable sorted tables in the format of LevelDB, which checkpoint indexes use. */
@NullMarked
package dev.millrace.storage.table;

import org.jspecify.annotations.NullMarked;
