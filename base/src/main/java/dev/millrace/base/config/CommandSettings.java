package dev.millrace.base.config;

import static dev.millrace.base.config.Setting.Group.COMMAND;

import java.nio.file.Path;
import java.util.List;

/** Settings of the {@code millrace} command and its scripts. */
public final class CommandSettings {
  public static final Setting<String> COMMAND_NAME =
      Setting.of(
          COMMAND,
          "millrace.command",
          SettingKind.TEXT,
          "millrace",
          "What users type to run the command, for messages. Set by the scripts.");

  public static final Setting<String> HOME =
      Setting.of(
          COMMAND,
          "millrace.home",
          SettingKind.TEXT,
          "",
          "The source tree the command runs from. Set by the scripts.");

  public static final Setting<String> JAVA_OPTS =
      Setting.optional(
          COMMAND,
          "MILLRACE_JAVA_OPTS",
          SettingKind.TEXT,
          "Options for the JVM, such as -Xmx2g or -Dmillrace.threads=2. Read by the scripts.");

  public static final Setting<String> CLASS_PATH =
      Setting.optional(
          COMMAND,
          "MILLRACE_CLASS_PATH",
          SettingKind.TEXT,
          "A class path to run instead of the built one. Read by the scripts.");

  public static final Setting<String> JARS =
      Setting.optional(
          COMMAND,
          "MILLRACE_JARS",
          SettingKind.TEXT,
          "Jars with more ops for the class path, as --jars names them. Read by the scripts.");

  public static final Setting<String> MODE =
      Setting.optional(
          COMMAND,
          "MILLRACE_MODE",
          SettingKind.oneOf("local", "async", "sync", "bounded", "ring"),
          "How the tasks of the job train together, unless the program's own flag says it. Set by"
              + " 'millrace run'.");

  public static final Setting<String> DURABILITY =
      Setting.optional(
          COMMAND,
          "MILLRACE_DURABILITY",
          SettingKind.oneOf("memory", "process"),
          "What the parameter servers of the job lose when they are killed, unless the program's"
              + " own flag says it: everything, or nothing. Set by 'millrace run'.");

  public static final Setting<Path> STATE_DIR =
      Setting.optional(
          COMMAND,
          "MILLRACE_STATE_DIR",
          SettingKind.PATH,
          "Where parameter servers of durability 'process' keep their state, unless the program's"
              + " own flag says it. Set by 'millrace run'.");

  public static final Setting<Boolean> LIVE =
      Setting.of(
          COMMAND,
          "MILLRACE_LIVE",
          SettingKind.BOOLEAN,
          false,
          "Whether a job rewrites its progress in one line, as on a terminal. Set by 'millrace run'"
              + " on a terminal.");

  public static final Setting<Path> LAUNCH_FOLDER =
      Setting.optional(
          COMMAND,
          "MILLRACE_LAUNCH_FOLDER",
          SettingKind.PATH,
          "The folder a task is started in. Read by the launcher's script.");

  static final List<Setting<?>> ALL =
      List.of(
          COMMAND_NAME,
          HOME,
          JAVA_OPTS,
          CLASS_PATH,
          JARS,
          MODE,
          DURABILITY,
          STATE_DIR,
          LIVE,
          LAUNCH_FOLDER);

  private CommandSettings() {}
}
