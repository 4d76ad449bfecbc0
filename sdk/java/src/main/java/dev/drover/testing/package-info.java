/**
 * Runs a handler without a server and without an agent: the test makes a task, and gets what an
 * agent would report.
 *
 * <pre>{@code
 * HandlerResult<Booking> result =
 *     TestTask.of(BOOK_FLIGHT, new Trip("Lisbon")).attempt(2).perform(Flights::book).result();
 * assertEquals(new Booking("flight-to-Lisbon"), result.output());
 * }</pre>
 */
package dev.drover.testing;
