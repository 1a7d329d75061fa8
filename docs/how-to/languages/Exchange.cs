using System.Diagnostics;
using System.Net.Http.Json;
using System.Text.Json;

var path = Path.Combine(Directory.CreateTempSubdirectory("exchange").FullName, "ready.json");
using var serve = Process.Start(new ProcessStartInfo("sim")
{
    ArgumentList =
    {
        "serve", "--port-base", "0", "--clock", "manual", "--ready-file", path,
    },
    RedirectStandardOutput = true,
})!;
try
{
    serve.StandardOutput.ReadLine(); // its first line: the ready file is complete
    using var ready = JsonDocument.Parse(File.ReadAllText(path));
    string At(string plane) => ready.RootElement.GetProperty(plane).GetString()!;
    using var http = new HttpClient();
    var markets = await http.GetAsync($"{At("gateway")}/v1/markets?limit=1"); // your client
    var moved = await http.PostAsJsonAsync(
        $"{At("control")}/_sim/v1/clock/advance", new { by = "5m", fired = "none" });
    Console.WriteLine($"{(int)markets.StatusCode} {(int)moved.StatusCode}");
}
finally
{
    serve.Kill();
}
