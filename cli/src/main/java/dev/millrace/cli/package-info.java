/** The {@code millrace} command: {@link dev.millrace.cli.Millrace} and one class per subcommand. */
package dev.millrace.cli;
