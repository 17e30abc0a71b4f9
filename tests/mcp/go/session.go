// One session through all tools with the Go SDK: session http URL, or session stdio COMMAND….
// Prints the revision, or fails.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type arguments = map[string]any

var session *mcp.ClientSession

// Shows the token of the variable BEARER.
type bearer struct{}

func (bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+os.Getenv("BEARER"))
	return http.DefaultTransport.RoundTrip(request)
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

func call(name string, given arguments, wanted string) string {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "sandbox_" + name, Arguments: given})
	if err != nil {
		fail("%s: %v", name, err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError || !strings.Contains(text, wanted) {
		fail("%s: %q is not in %.300q", name, wanted, text)
	}
	return text
}

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "nutshell-test", Version: "0"}, nil)
	var transport mcp.Transport = &mcp.CommandTransport{Command: exec.Command(os.Args[2], os.Args[3:]...)}
	if os.Args[1] == "http" {
		transport = &mcp.StreamableClientTransport{Endpoint: os.Args[2], HTTPClient: &http.Client{Transport: bearer{}}}
	}
	made, err := client.Connect(ctx, transport, nil)
	if err != nil {
		fail("connect: %v", err)
	}
	session = made
	tools, err := session.ListTools(ctx, nil)
	if err != nil || tools.Tools[0].Name != "sandbox_read" {
		fail("list: %v", err)
	}
	call("ls", arguments{}, "")
	call("write", arguments{"path": "a.txt", "content": "one\ntwo\n"}, "a.txt")
	call("read", arguments{"path": "a.txt"}, "two")
	call("edit", arguments{"path": "a.txt", "old": "two", "new": "three"}, "a.txt")
	call("diff", arguments{"a": "a.txt"}, "+three")
	call("grep", arguments{"pattern": "three"}, "a.txt")
	call("find", arguments{"glob": "*.txt"}, "a.txt")
	call("git", arguments{"args": []string{"version"}}, "git version")
	call("delete", arguments{"path": "a.txt"}, "a.txt")
	call("undo", arguments{}, "a.txt")
	shown := call("bash", arguments{"command": "seq 1 5000"}, "5000")
	output := regexp.MustCompile(`\bo[0-9a-f]{4,}\b`).FindString(shown)
	call("recall", arguments{"id": output, "grep": "4321"}, "4321")
	running := call("bash", arguments{"command": "sleep 1; echo late", "wait": 0}, "job ")
	job := regexp.MustCompile(`\bj\d+\b`).FindString(running)
	call("job", arguments{"id": job, "wait": 20}, "late")
	if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "nutshell://sandbox"}); err != nil {
		fail("resource: %v", err)
	}
	short, stop := context.WithTimeout(ctx, 500*time.Millisecond)
	defer stop()
	token := "sleep 600; : " + os.Getenv("TOKEN")
	if _, err := session.CallTool(short, &mcp.CallToolParams{Name: "sandbox_bash", Arguments: arguments{"command": token}}); err == nil {
		fail("a call that was cancelled has an answer")
	}
	call("ls", arguments{}, "")
	fmt.Println(session.InitializeResult().ProtocolVersion)
	session.Close()
}
