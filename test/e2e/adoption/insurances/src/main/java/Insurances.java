import dev.drover.Agent;
import dev.drover.TaskContext;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;

/** The agent for insurances, in Java. */
final class Insurances {
  private Insurances() {}

  public static void main(String[] arguments) {
    Agent.builder(System.getenv("DROVER_ADDRESS"), "insurances")
        .queue("travel")
        .handle("insure", Insurances::insure)
        .build()
        .run();
  }

  private static Object insure(TaskContext task) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder()
        .uri(URI.create(System.getenv("SERVICES") + "/insurance"))
        .header("idempotency-key", task.idempotencyKey())
        .POST(BodyPublishers.noBody())
        .build();
    int status = HttpClient.newHttpClient().send(request, BodyHandlers.discarding()).statusCode();
    return Map.of("status", status);
  }
}
