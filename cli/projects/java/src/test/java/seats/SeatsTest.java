package seats;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.drover.testing.HandlerResult;
import dev.drover.testing.TestTask;
import org.junit.jupiter.api.Test;
import seats.Seats.Charge;
import seats.Seats.Order;

/** The handlers, without a server. */
class SeatsTest {
  @Test
  void aCardIsChargedUnderTheKeyOfItsTask() {
    HandlerResult<Charge> result = TestTask.of(Seats.CHARGE, new Order("visa"))
        .idempotencyKey("key-7").perform(Seats::charge).result();
    assertEquals(new Charge("key-7"), result.output());
  }

  @Test
  void withoutACardNoRetryHelps() {
    HandlerResult<Charge> result =
        TestTask.of(Seats.CHARGE, new Order("none")).perform(Seats::charge).result();
    assertEquals("no-card", result.code());
    assertEquals(false, result.isTransient());
  }
}
