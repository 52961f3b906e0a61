/** Immutable sorted tables in the format of LevelDB, which checkpoint indexes use. */
package dev.millrace.storage.table;
