import static io.gatling.javaapi.core.CoreDsl.*;
import static io.gatling.javaapi.http.HttpDsl.*;

import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;
import io.gatling.javaapi.http.HttpProtocolBuilder;

/**
 * A load test with Gatling that fails if the timing of the mock cannot be trusted. One scenario
 * begins a run, the next is the load, the last ends the run and checks its verdict:
 *
 * <pre>
 * mockserver -c examples/tasks.yml --admin 127.0.0.1:8001
 * cp examples/load/MockSimulation.java PROJECT/src/test/java/
 * mvn gatling:test -Dgatling.simulationClass=MockSimulation
 * </pre>
 *
 * Gatling exits 2 if an assertion does not hold.
 */
public class MockSimulation extends Simulation {
  private static final String ADMIN = setting("MOCKSERVER_ADMIN_URL", "http://127.0.0.1:8001");
  private static final String TOKEN = "Bearer " + setting("MOCKSERVER_ADMIN_TOKEN", "");

  /** The run, for the scenario that ends it. */
  private static volatile String run = "none";

  private static String setting(String name, String standard) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? standard : value;
  }

  private final HttpProtocolBuilder mock = http.baseUrl(setting("MOCK_URL", "http://127.0.0.1:8000"));

  private final ScenarioBuilder begin =
      scenario("begin")
          .exec(
              http("begin a run")
                  .post(ADMIN + "/__admin/runs")
                  .header("Authorization", TOKEN)
                  .body(StringBody("{\"name\": \"Gatling, tasks\"}"))
                  .check(status().is(201), jsonPath("$.id").saveAs("run")))
          .exec(
              session -> {
                run = session.getString("run");
                return session;
              });

  private final ScenarioBuilder load =
      scenario("load")
          .exec(http("read a task").get("/tasks/7").check(status().is(200), jsonPath("$.id").is("7")));

  private final ScenarioBuilder end =
      scenario("end")
          .exec(
              http("the timing can be trusted")
                  .post(session -> ADMIN + "/__admin/runs/" + run + "/stop")
                  .header("Authorization", TOKEN)
                  .check(status().is(200), jsonPath("$.verdict.trusted").is("true")));

  {
    setUp(
            begin
                .injectOpen(atOnceUsers(1))
                .andThen(
                    load.injectOpen(constantUsersPerSec(100).during(30))
                        .andThen(end.injectOpen(atOnceUsers(1)))))
        .protocols(mock)
        .assertions(
            details("the timing can be trusted").successfulRequests().count().is(1L),
            details("read a task").failedRequests().count().is(0L));
  }
}
