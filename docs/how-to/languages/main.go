package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	path := filepath.Join(must(os.MkdirTemp("", "exchange")), "ready.json")
	serve := exec.Command("sim", "serve", "--port-base", "0", "--clock", "manual", "--ready-file", path)
	stdout := bufio.NewReader(must(serve.StdoutPipe()))
	if err := serve.Start(); err != nil {
		panic(err)
	}
	defer serve.Process.Signal(os.Interrupt)
	must(stdout.ReadString('\n')) // its first line: the ready file is complete
	var ready struct{ Gateway, Retail, Control string }
	if err := json.Unmarshal(must(os.ReadFile(path)), &ready); err != nil {
		panic(err)
	}
	markets := must(http.Get(ready.Gateway + "/v1/markets?limit=1")) // your client, instead
	moved := must(http.Post(ready.Control+"/_sim/v1/clock/advance", "application/json",
		strings.NewReader(`{"by": "5m", "fired": "none"}`)))
	fmt.Println(markets.StatusCode, moved.StatusCode)
}
