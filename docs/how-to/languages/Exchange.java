import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.util.regex.Pattern;

public class Exchange {
    public static void main(String[] args) throws Exception {
        var ready = Files.createTempDirectory("exchange").resolve("ready.json");
        var serve = new ProcessBuilder("sim", "serve", "--port-base", "0", "--clock", "manual",
                "--quiet", "--ready-file", ready.toString()).start();
        try {
            serve.inputReader().readLine(); // its first line: the ready file is complete
            var facts = Files.readString(ready); // JSON: read it with your library
            var http = HttpClient.newHttpClient();
            var markets = HttpRequest.newBuilder(
                    URI.create(address(facts, "gateway") + "/v1/markets?limit=1")); // your client
            var advance = HttpRequest.newBuilder(
                    URI.create(address(facts, "control") + "/_sim/v1/clock/advance"))
                    .POST(BodyPublishers.ofString("{\"by\": \"5m\", \"fired\": \"none\"}"));
            for (var request : new HttpRequest.Builder[] {markets, advance}) {
                System.out.println(http.send(request.build(), BodyHandlers.ofString()).statusCode());
            }
        } finally {
            serve.destroy();
        }
    }

    static String address(String facts, String plane) {
        var found = Pattern.compile("\"" + plane + "\": \"([^\"]+)\"").matcher(facts);
        return found.results().findFirst().orElseThrow().group(1);
    }
}
