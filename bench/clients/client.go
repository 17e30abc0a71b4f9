// Command client runs a command for each line that comes, and answers how many microseconds it took.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"nutshell"
)

func main() {
	ctx := context.Background()
	sandbox, err := nutshell.Create(ctx, &nutshell.Options{TTL: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	defer sandbox.Close()
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		began := time.Now()
		done, err := sandbox.Run(ctx, nutshell.Argv("/bin/true"), nil)
		taken := time.Since(began)
		if err != nil || !done.OK() {
			log.Panic(done, err)
		}
		fmt.Println(float64(taken.Nanoseconds()) / 1000)
	}
}
