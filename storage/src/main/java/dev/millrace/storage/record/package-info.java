/** TFRecord files and event files. */
package dev.millrace.storage.record;
