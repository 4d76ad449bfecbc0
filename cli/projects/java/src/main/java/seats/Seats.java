package seats;

import dev.drover.CompensateTask;
import dev.drover.Task;
import dev.drover.TaskContext;
import dev.drover.TaskException;
import dev.drover.TypedContext;

/**
 * The tasks of this project and their handlers. Drover decides what happens next; a handler only
 * reports how its task ended.
 */
final class Seats {
  record Order(String card) {}

  record Seat(String seat) {}

  record Charge(String charge) {}

  static final Task<Order, Seat> RESERVE = Task.of("reserve-seat", Order.class, Seat.class);
  static final CompensateTask<Order, Seat> RELEASE = RESERVE.compensatedBy("release-seat");
  static final Task<Order, Charge> CHARGE = Task.of("charge-card", Order.class, Charge.class);

  private Seats() {}

  static Seat reserve(Order order, TaskContext task) {
    return new Seat("12A");
  }

  static void release(TypedContext<Order, Seat> task) {
    System.out.println("the seat is free again");
  }

  static Charge charge(Order order, TaskContext task) {
    if (order.card().equals("none")) {
      throw TaskException.permanent("no-card", "There is no card to charge.");
    }
    // The same for every try of this task: a payment service charges once for each key.
    return new Charge(task.idempotencyKey());
  }
}
