/**
 * CSV files: {@link dev.millrace.train.data.csv.CsvSchema} says what their fields are, {@link
 * dev.millrace.train.data.csv.CsvFiles} reads them.
 */
package dev.millrace.train.data.csv;
