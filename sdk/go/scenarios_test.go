package nutshell_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"nutshell"
)

// runner carries out a scenario of sdk/scenarios.
type runner struct {
	t     *testing.T
	saved map[string]any
}

type step struct {
	Call      string         `json:"call"`
	Arguments map[string]any `json:"arguments"`
	Save      string         `json:"save"`
	Expect    map[string]any `json:"expect"`
	Error     map[string]any `json:"error"`
}

func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob("../scenarios/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) { runScenario(t, path) })
	}
}

func runScenario(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var scenario struct {
		Name, About string
		Steps       []step
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&scenario); err != nil {
		t.Fatal(err)
	}
	name := make([]byte, 6)
	_, _ = rand.Read(name)
	r := &runner{t, map[string]any{"scenario": "s" + hex.EncodeToString(name)}}
	defer r.close()
	for number, one := range scenario.Steps {
		where := fmt.Sprintf("step %d %s", number, one.Call)
		result, err := r.call(one.Call, arguments{t, r.filled(one.Arguments).(map[string]any)})
		if err != nil {
			if one.Error == nil {
				t.Fatalf("%s: %v", where, err)
			}
			r.check(described(err), one.Error, where)
			continue
		}
		if one.Error != nil {
			t.Fatalf("%s: no error, but %v", where, result)
		}
		if one.Save != "" {
			r.saved[one.Save] = result
		}
		r.check(result, one.Expect, where)
	}
}

func described(err error) map[string]any {
	var known *nutshell.Error
	var failed *nutshell.CommandFailedError
	if errors.As(err, &failed) {
		return map[string]any{"code": string(nutshell.CodeCommandFailed), "message": err.Error()}
	}
	if errors.As(err, &known) {
		return map[string]any{"code": string(known.Code), "message": known.Message}
	}
	return map[string]any{"code": "untyped", "message": err.Error()}
}

func (r *runner) close() {
	for _, one := range r.saved {
		if closer, is := one.(io.Closer); is {
			if err := closer.Close(); err != nil && !errors.Is(err, nutshell.ErrClosed) {
				r.t.Errorf("close: %v", err)
			}
		}
	}
}

// arguments of a call. Taking one notes that it is known.
type arguments struct {
	t     *testing.T
	given map[string]any
}

func take[T any](a arguments, name string) T {
	var zero T
	value, is := a.given[name]
	delete(a.given, name)
	if !is || value == nil {
		return zero
	}
	var result T
	switch into := any(&result).(type) {
	case *[]byte:
		*into = bytesOf(value)
	case *time.Duration:
		*into = time.Duration(value.(float64) * float64(time.Second))
	default:
		text, err := json.Marshal(value)
		if err != nil || json.Unmarshal(text, into) != nil {
			a.t.Fatalf("the argument %s cannot be %v", name, value)
		}
	}
	return result
}

// done fails if an argument was given that the runner does not know.
func (a arguments) done() {
	for name := range a.given {
		a.t.Fatalf("unknown argument %s", name)
	}
}

func bytesOf(value any) []byte {
	if text, is := value.(string); is {
		return []byte(text)
	}
	return value.([]byte)
}

func commandOf(value any) nutshell.Command {
	if text, is := value.(string); is {
		return nutshell.Shell(text)
	}
	words := []string{}
	list, _ := value.([]any)
	for _, word := range list {
		words = append(words, word.(string))
	}
	return nutshell.Argv(words...)
}

func takeCommand(a arguments) nutshell.Command {
	value := a.given["command"]
	delete(a.given, "command")
	return commandOf(value)
}

func optionsOf(a arguments) *nutshell.Options {
	options := &nutshell.Options{
		Backend: take[string](a, "backend"), Image: take[string](a, "image"), Memory: take[string](a, "memory"),
		Disk: take[string](a, "disk"), CPUs: take[float64](a, "cpus"), Processes: take[int64](a, "processes"),
		Environment: take[map[string]string](a, "environment"), WorkingDirectory: take[string](a, "working_directory"),
		Workspace: take[string](a, "workspace"), Labels: take[map[string]string](a, "labels"),
		TTL: take[time.Duration](a, "ttl"), IdleTimeout: take[time.Duration](a, "idle_timeout"),
		Require: take[[]string](a, "require"), UnsafeWithout: take[[]string](a, "unsafe_without"),
		Timeout: take[time.Duration](a, "timeout"), Network: take[*nutshell.NetworkPolicy](a, "network"),
		KeepCaches: take[string](a, "keep_caches"),
	}
	a.done()
	return options
}

func runOptionsOf(a arguments) *nutshell.RunOptions {
	return &nutshell.RunOptions{Timeout: take[time.Duration](a, "timeout"), Stdin: take[[]byte](a, "stdin"),
		Environment: take[map[string]string](a, "environment"), WorkingDirectory: take[string](a, "working_directory"),
		Check: take[bool](a, "check"), Trace: take[string](a, "trace")}
}

func (r *runner) call(name string, a arguments) (any, error) {
	ctx := context.Background()
	switch name {
	case "Client":
		return nutshell.NewClient(nil), nil
	case "Sandbox":
		if pool := take[string](a, "pool"); pool != "" {
			return nutshell.NewPool(nil, pool).Acquire(ctx, &nutshell.AcquireOptions{Sandbox: optionsOf(a)})
		}
		return nutshell.Create(ctx, optionsOf(a))
	case "Sandbox.connect":
		return nutshell.Connect(ctx, nil, take[string](a, "id"))
	case "Sandbox.list":
		return nutshell.List(ctx, nil, take[map[string]string](a, "labels"))
	case "Session":
		return r.session(ctx, a)
	case "Session.list":
		return nutshell.ListSessions(ctx, nil, take[map[string]string](a, "labels"))
	case "Pool":
		return nutshell.NewPool(nil, take[string](a, "name")), nil
	case "Pool.list":
		return nutshell.ListPools(ctx, nil)
	}
	head, rest, _ := strings.Cut(name, ".")
	switch target := r.saved[head].(type) {
	case *nutshell.Sandbox:
		return r.sandbox(ctx, target, rest, a)
	case *nutshell.Session:
		return sessionCall(ctx, target, rest, a)
	case *nutshell.Pool:
		return poolCall(ctx, target, rest, a)
	case *nutshell.Job:
		return jobCall(ctx, target, rest, a)
	case *nutshell.Client:
		return clientCall(ctx, target, rest, a)
	}
	r.t.Fatalf("%s was not saved", head)
	return nil, nil
}

func (r *runner) session(ctx context.Context, a arguments) (any, error) {
	options := &nutshell.SessionOptions{Labels: take[map[string]string](a, "labels"), Lease: take[time.Duration](a, "lease"),
		PauseAfter: take[time.Duration](a, "pause_after"), KeepsWorkspace: take[bool](a, "keeps_workspace"),
		Budget: take[*nutshell.Budget](a, "budget")}
	for _, command := range take[[]any](a, "setup") {
		options.Setup = append(options.Setup, commandOf(command))
	}
	name := take[string](a, "name")
	a.done()
	return nutshell.OpenSession(ctx, name, options)
}

func (r *runner) sandbox(ctx context.Context, s *nutshell.Sandbox, name string, a arguments) (any, error) {
	if tool, is := strings.CutPrefix(name, "tools."); is {
		return s.Tools.Call(ctx, tool, a.given)
	}
	if file, is := strings.CutPrefix(name, "files."); is {
		return fileCall(ctx, s.Files, file, a)
	}
	switch name {
	case "run":
		return runCall(ctx, s, a)
	case "stream":
		return streamCall(ctx, s, a)
	case "terminal":
		return terminalCall(ctx, s, a)
	case "start":
		return s.Start(ctx, takeCommand(a), runOptionsOf(a))
	case "undo":
		return s.Undo(ctx, "")
	case "changes":
		return s.Changes(ctx)
	case "checkpoint":
		return s.Checkpoint(ctx, take[bool](a, "kill"))
	case "rollback":
		return nil, s.Rollback(ctx, take[string](a, "name"), take[bool](a, "kill"))
	case "fork":
		return s.Fork(ctx)
	case "pause":
		return s.Pause(ctx)
	case "resume":
		return s.Resume(ctx)
	case "extend":
		return s.Extend(ctx, take[time.Duration](a, "ttl"))
	case "stats":
		return s.Stats(ctx)
	case "network_status":
		return s.NetworkStatus(ctx)
	case "set_network":
		return s.SetNetwork(ctx, take[*nutshell.NetworkPolicy](a, "policy"))
	case "network_events":
		return s.NetworkEvents(ctx, take[int64](a, "after"))
	case "history":
		return s.History(ctx)
	case "refresh":
		return s.Refresh(ctx)
	case "close":
		return nil, s.Close()
	}
	r.t.Fatalf("unknown call of a sandbox: %s", name)
	return nil, nil
}

func fileCall(ctx context.Context, f *nutshell.Files, name string, a arguments) (any, error) {
	path := take[string](a, "path")
	switch name {
	case "read":
		length := int64(-1)
		if _, is := a.given["length"]; is {
			length = take[int64](a, "length")
		}
		return f.ReadRange(ctx, path, take[int64](a, "offset"), length)
	case "read_text":
		return f.ReadText(ctx, path)
	case "write":
		return nil, f.Write(ctx, path, strings.NewReader(string(take[[]byte](a, "content"))), take[uint32](a, "mode"))
	case "list":
		if path == "" {
			path = "/workspace"
		}
		return f.List(ctx, path, take[bool](a, "recursive"))
	case "make_directory":
		return nil, f.MakeDirectory(ctx, path)
	case "remove":
		return nil, f.Remove(ctx, path, take[bool](a, "recursive"))
	case "exists":
		return f.Exists(ctx, path)
	}
	a.t.Fatalf("unknown call of files: %s", name)
	return nil, nil
}

func runCall(ctx context.Context, s *nutshell.Sandbox, a arguments) (any, error) {
	isStreamed := take[bool](a, "streamed")
	command, options := takeCommand(a), runOptionsOf(a)
	a.done()
	if !isStreamed {
		return s.Run(ctx, command, options)
	}
	var gathered struct {
		*nutshell.ExecResult
		StreamedStdout, StreamedStderr string
	}
	options.OnStdout = func(data []byte) error { gathered.StreamedStdout += string(data); return nil }
	options.OnStderr = func(data []byte) error { gathered.StreamedStderr += string(data); return nil }
	result, err := s.Run(ctx, command, options)
	gathered.ExecResult = result
	return gathered, err
}

func streamCall(ctx context.Context, s *nutshell.Sandbox, a arguments) (any, error) {
	events := []map[string]any{}
	command, options := takeCommand(a), runOptionsOf(a)
	a.done()
	for piece, err := range s.Stream(ctx, command, options).Output() {
		if err != nil {
			return nil, err
		}
		events = append(events, map[string]any{"stream": piece.Stream, "text": string(piece.Data)})
	}
	return events, nil
}

func terminalCall(ctx context.Context, s *nutshell.Sandbox, a arguments) (any, error) {
	options := &nutshell.TerminalOptions{Command: takeCommand(a), Columns: take[int](a, "columns")}
	if _, is := a.given["rows"]; is {
		options.Rows = take[int](a, "rows")
		if options.Rows == 0 {
			options.Rows = -1 // in Go, zero stands for the default
		}
	}
	opened, err := s.Terminal(ctx, options)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	if _, err := opened.Write([]byte(take[string](a, "send"))); err != nil {
		return nil, err
	}
	output, err := io.ReadAll(opened)
	if err != nil {
		return nil, err
	}
	result, err := opened.Result()
	if err != nil {
		return nil, err
	}
	return map[string]any{"output": string(output), "exit_code": result.ExitCode}, nil
}

func jobCall(ctx context.Context, j *nutshell.Job, name string, a arguments) (any, error) {
	switch name {
	case "wait":
		return j.Wait(ctx)
	case "status":
		return j.Status(ctx)
	case "kill":
		return nil, j.Kill(ctx)
	case "signal":
		return nil, j.Signal(ctx, take[int](a, "number"))
	}
	a.t.Fatalf("unknown call of a job: %s", name)
	return nil, nil
}

func sessionCall(ctx context.Context, s *nutshell.Session, name string, a arguments) (any, error) {
	switch name {
	case "run":
		return s.Run(ctx, takeCommand(a), runOptionsOf(a))
	case "renew":
		return s.Renew(ctx, take[time.Duration](a, "lease"))
	case "end":
		return nil, s.End(ctx)
	case "forget":
		return nil, s.Forget(ctx)
	case "refresh":
		return s.Refresh(ctx)
	case "close":
		return nil, s.Close()
	}
	a.t.Fatalf("unknown call of a session: %s", name)
	return nil, nil
}

func poolCall(ctx context.Context, p *nutshell.Pool, name string, a arguments) (any, error) {
	switch name {
	case "acquire":
		return p.Acquire(ctx, &nutshell.AcquireOptions{Sandbox: optionsOf(a)})
	case "refresh":
		return p.Refresh(ctx)
	case "warm":
		return p.Warm(ctx)
	case "drain":
		return p.Drain(ctx)
	}
	a.t.Fatalf("unknown call of a pool: %s", name)
	return nil, nil
}

func clientCall(ctx context.Context, c *nutshell.Client, name string, a arguments) (any, error) {
	switch name {
	case "health":
		return c.Health(ctx)
	case "ready":
		return c.Ready(ctx)
	case "daemon":
		return c.Daemon(ctx)
	case "metrics":
		return c.Metrics(ctx)
	case "tools":
		return c.Tools(ctx)
	case "check":
		return c.Check(ctx, optionsOf(a))
	case "batch":
		commands := []nutshell.BatchCommand{}
		for _, one := range take[[]any](a, "commands") {
			commands = append(commands, nutshell.BatchCommand{Command: commandOf(one)})
		}
		return c.Batch(ctx, commands, &nutshell.BatchOptions{Parallel: take[int](a, "parallel")})
	case "audit":
		return c.Audit(ctx, &nutshell.AuditOptions{Action: take[string](a, "action"), Sandbox: take[string](a, "sandbox"),
			Session: take[string](a, "session"), Limit: take[int](a, "limit")})
	case "sweep":
		return c.Sweep(ctx, take[bool](a, "dry_run"))
	}
	a.t.Fatalf("unknown call of a client: %s", name)
	return nil, nil
}

var savedForm = regexp.MustCompile(`^\$[a-z]\w*(\.\w+)*$`)

func (r *runner) filled(value any) any {
	switch known := value.(type) {
	case []any:
		filled := []any{}
		for _, one := range known {
			filled = append(filled, r.filled(one))
		}
		return filled
	case map[string]any:
		if text, is := known["base64"].(string); is && len(known) == 1 {
			data, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				r.t.Fatal(err)
			}
			return data
		}
		filled := map[string]any{}
		for name, one := range known {
			filled[name] = r.filled(one)
		}
		return filled
	case string:
		if savedForm.MatchString(known) {
			head, rest, _ := strings.Cut(known[1:], ".")
			return at(r.saved[head], rest)
		}
	}
	return value
}

func (r *runner) check(result any, checks map[string]any, where string) {
	for path, wanted := range checks {
		found := at(result, path)
		if filled := r.filled(wanted); !holds(r.t, found, filled) {
			r.t.Fatalf("%s: %q is %#v, not %#v", where, path, found, filled)
		}
	}
}
