/**
 * Workflows in Java, with the names of the YAML form; the result is exactly the message that the
 * YAML form becomes. A setting that is left out has its default; {@code
 * proto/drover/v1/workflow.proto} lists the defaults and the limits. The builders are for one
 * thread at a time; what they build is immutable.
 *
 * <pre>{@code
 * static final Workflow<Trip> TRIP = Workflow.builder("trip", Trip.class)
 *     .step(Step.task("flight", BOOK_FLIGHT).compensate(CANCEL_FLIGHT))
 *     .step(Step.task("mail", SEND_MAIL).needs("flight"))
 *     .build();
 * }</pre>
 */
package dev.drover.workflow;
