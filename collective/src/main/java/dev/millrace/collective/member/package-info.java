/**
 * Who belongs to a job and who is alive. Every rank holds one connection to the job's {@link
 * dev.millrace.collective.member.RingCoordinator}, apart from its data: over it ranks find each
 * other, prove that they belong, show that they live, and learn what went wrong first. {@link
 * dev.millrace.collective.member.RankConfig} says which rank a process is, {@link
 * dev.millrace.collective.member.Member} is its side of the connection.
 */
package dev.millrace.collective.member;
