/**
 * Drover's SDK for Java: a {@link dev.drover.Client} starts runs and reads their state, an
 * {@link dev.drover.Agent} performs their steps. The SDK contains no workflow logic: the server
 * decides which step comes next.
 *
 * <p>A value of an enum that a newer server sends and this version does not know is read as
 * UNRECOGNIZED. Calls that have no method of their own are made by {@link
 * dev.drover.GeneratedClients}, with messages of the contract from package {@code dev.drover.v1},
 * whose comments are their reference. All types may be used by several threads at a time, except
 * builders.
 */
package dev.drover;
