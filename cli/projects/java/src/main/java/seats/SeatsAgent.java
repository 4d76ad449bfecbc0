package seats;

import dev.drover.Agent;
import java.util.Optional;

/** The agent of this project: it polls for the tasks that it has handlers for. */
public final class SeatsAgent {
  private SeatsAgent() {}

  /**
   * Performs tasks until it is stopped.
   *
   * @param arguments none
   */
  public static void main(String[] arguments) {
    String address =
        Optional.ofNullable(System.getenv("DROVER_ADDRESS")).orElse("127.0.0.1:7420");
    Agent agent = Agent.builder(address, "seats-1")
        .handle(Seats.RESERVE, Seats::reserve)
        .compensate(Seats.RELEASE, Seats::release)
        .handle(Seats.CHARGE, Seats::charge)
        .build();
    System.out.println("agent seats-1 waits for tasks");
    agent.run();
  }
}
