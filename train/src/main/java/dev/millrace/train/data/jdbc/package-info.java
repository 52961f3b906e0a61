/** Tables of databases: {@link dev.millrace.train.data.jdbc.JdbcTable} reads them. */
package dev.millrace.train.data.jdbc;
