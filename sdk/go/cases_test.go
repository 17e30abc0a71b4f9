package nutshell_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nutshell"
)

// Cases for tests/sdk/go_test.py, which names one with NUTSHELL_CASE and gives its words in NUTSHELL_WORDS.
func TestCase(t *testing.T) {
	name := os.Getenv("NUTSHELL_CASE")
	if name == "" {
		t.Skip("tests/sdk/go_test.py names the case")
	}
	var words []string
	if text := os.Getenv("NUTSHELL_WORDS"); text != "" {
		if err := json.Unmarshal([]byte(text), &words); err != nil {
			t.Fatal(err)
		}
	}
	one, is := cases[name]
	if !is {
		t.Fatalf("there is no case %s", name)
	}
	one(&fixture{t, context.Background()}, words)
}

var cases = map[string]func(f *fixture, words []string){
	"no_daemon_and_no_programs": noDaemon, "first_use": firstUse, "wrong_token": wrongToken,
	"daemon_killed_in_a_stream": daemonKilled, "private_daemon_killed": privateDaemonKilled, "used_after_close": usedAfterClose,
	"interrupted": interrupted, "interrupted_context": interruptedContext, "cancelled_at_any_time": cancelledAtAnyTime, "callback_that_fails": callbackThatFails, "cancelled": cancelled, "hung_daemon": hungDaemon,
	"other_versions": otherVersions, "malformed_answers": malformedAnswers, "shared_by_many": sharedByMany, "collected_without_close": collected, "no_growth": noGrowth,
	"hostile_names": hostileNames, "copies_and_changes": copiesAndChanges, "watched": watched, "large_and_binary": largeAndBinary,
	"schemas": schemas, "surface": surface,
}

var input = bufio.NewReader(os.Stdin)

type fixture struct {
	*testing.T
	ctx context.Context
}

func (f *fixture) say(text string) { fmt.Fprintln(os.Stdout, text) }

func (f *fixture) next() {
	if _, err := input.ReadString('\n'); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// fails checks the code of an error of this package.
func (f *fixture) fails(err error, codes ...nutshell.ErrorCode) *nutshell.Error {
	f.Helper()
	var known *nutshell.Error
	if !errors.As(err, &known) || (len(codes) > 0 && !slices.Contains(codes, known.Code)) {
		f.Fatalf("the error is %v, not %v", err, codes)
	}
	return known
}

func (f *fixture) equal(found, wanted any) {
	f.Helper()
	if !reflect.DeepEqual(found, wanted) {
		f.Fatalf("%#v, not %#v", found, wanted)
	}
}

func (f *fixture) until(holds func() bool, what string) {
	f.Helper()
	for range 300 {
		if holds() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.Fatal(what)
}

func (f *fixture) create() *nutshell.Sandbox {
	f.Helper()
	s, err := nutshell.Create(f.ctx, nil)
	f.must(err)
	return s
}

func (f *fixture) stdout(s *nutshell.Sandbox, text string) string {
	f.Helper()
	done, err := s.Run(f.ctx, nutshell.Shell(text), nil)
	f.must(err)
	return done.Stdout
}

func (f *fixture) isRunning(s *nutshell.Sandbox, mark string) bool {
	f.Helper()
	done, err := s.Run(f.ctx, nutshell.Argv("pgrep", "-f", mark), nil)
	f.must(err)
	return done.OK()
}

func noDaemon(f *fixture, _ []string) {
	_, err := nutshell.Create(f.ctx, nil)
	known := f.fails(err, "unavailable")
	if !strings.Contains(known.Message, "nutshelld") || !known.Retryable() || !errors.Is(err, nutshell.ErrUnavailable) {
		f.Fatal(err)
	}
}

func firstUse(f *fixture, words []string) {
	s := f.create()
	f.equal(f.stdout(s, "echo $((6*7))"), "42\n")
	f.must(s.Close())
	f.say("used")
	if len(words) > 0 {
		f.next()
	}
}

func wrongToken(f *fixture, words []string) {
	address, token := words[0], words[1]
	at := func(daemon, token string) *nutshell.Client {
		return nutshell.NewClient(&nutshell.ClientOptions{Daemon: daemon, Token: token})
	}
	_, err := nutshell.Create(f.ctx, &nutshell.Options{Client: at(address, "wrong")})
	f.equal(f.fails(err, "unauthenticated").Status, 401)
	_, err = nutshell.Create(f.ctx, &nutshell.Options{Client: at(address, "two words")})
	f.fails(err, "invalid_argument")
	s, err := nutshell.Create(f.ctx, &nutshell.Options{Client: at(address, token)})
	f.must(err)
	defer s.Close()
	f.equal(f.stdout(s, "echo in"), "in\n")
	f.must(s.Files.WriteText(f.ctx, "f", "x"))
	diff, err := s.Diff(f.ctx, nil)
	if err != nil || !strings.Contains(diff, "+x") {
		f.Fatal(diff, err)
	}
	for _, daemon := range []string{"http://192.0.2.1:1", "ftp://localhost", "http://"} {
		_, err = nutshell.List(f.ctx, at(daemon, ""), nil)
		f.fails(err, "invalid_argument")
	}
	_, err = nutshell.List(f.ctx, at("/nonexistent/socket", ""), nil)
	f.fails(err, "unavailable")
}

func daemonKilled(f *fixture, _ []string) {
	s := f.create()
	waiting := make(chan error)
	go func() {
		_, err := s.Run(f.ctx, nutshell.Shell("sleep 60"), nil)
		waiting <- err
	}()
	execution, failures := s.Stream(f.ctx, nutshell.Shell("echo begun; sleep 60"), nil), 0
	for piece, err := range execution.Output() {
		if err != nil {
			f.fails(err, "unavailable")
			failures++
			continue
		}
		f.equal(string(piece.Data), "begun\n")
		f.say("begun")
	}
	f.equal(failures, 1)
	f.fails(<-waiting, "unavailable")
	_, err := execution.Result()
	f.fails(err, "unavailable")
	f.say("failed")
	f.next() // there is another daemon
	found, err := nutshell.List(f.ctx, nil, nil)
	f.must(err)
	f.equal(found[0].ID, s.ID)
	f.equal(f.stdout(s, "echo again"), "again\n")
	f.must(s.Close())
}

func privateDaemonKilled(f *fixture, _ []string) {
	s := f.create()
	daemon, err := nutshell.DefaultClient().Daemon(f.ctx)
	f.must(err)
	process, err := os.FindProcess(int(daemon.PID))
	f.must(err)
	f.must(process.Kill())
	f.until(func() bool {
		_, err := s.Run(f.ctx, nutshell.Argv("true"), nil)
		return errors.Is(err, nutshell.ErrNotFound)
	}, "the sandbox is still there")
	other := f.create()
	f.equal(f.stdout(other, "echo new"), "new\n")
	f.must(other.Close())
	f.must(s.Close())
}

func usedAfterClose(f *fixture, _ []string) {
	s := f.create()
	f.must(s.Close())
	f.must(s.Close())
	for _, call := range []func() error{
		func() error { _, err := s.Run(f.ctx, nutshell.Argv("true"), nil); return err },
		func() error { _, err := s.Stream(f.ctx, nutshell.Argv("true"), nil).Result(); return err },
		func() error { _, err := s.Start(f.ctx, nutshell.Argv("true"), nil); return err },
		func() error { _, err := s.Files.Read(f.ctx, "/x"); return err },
		func() error { return s.Files.WriteText(f.ctx, "/x", "") },
		func() error { _, err := s.Tools.Ls(f.ctx, nutshell.LsArgs{}); return err },
		func() error { _, err := s.Terminal(f.ctx, nil); return err },
		func() error { _, err := s.Changes(f.ctx); return err },
		func() error { _, err := s.Fork(f.ctx); return err },
		func() error { _, err := s.Diff(f.ctx, nil); return err },
		func() error { _, err := s.Apply(f.ctx, nil); return err },
	} {
		f.fails(call(), nutshell.CodeClosed)
	}
	client := nutshell.NewClient(nil)
	f.must(client.Close())
	_, err := client.Health(f.ctx)
	f.fails(err, nutshell.CodeClosed)
}

func interrupted(f *fixture, words []string) {
	sleep := nutshell.Argv("sleep", words[1])
	long := &nutshell.RunOptions{Timeout: time.Minute}
	var s *nutshell.Sandbox
	if words[0] != "create" {
		s = f.create()
	}
	f.say("ready")
	switch words[0] {
	case "run":
		_, _ = s.Run(f.ctx, sleep, long)
	case "stream":
		_, _ = s.Stream(f.ctx, sleep, long).Result()
	case "terminal":
		terminal, err := s.Terminal(f.ctx, &nutshell.TerminalOptions{Command: sleep})
		f.must(err)
		_, _ = terminal.Result()
	case "tool":
		_, _ = s.Tools.Bash(f.ctx, nutshell.BashArgs{Command: "sleep " + words[1], Wait: nutshell.Ptr[int64](600)})
	case "batch":
		_, _ = nutshell.DefaultClient().Batch(f.ctx, []nutshell.BatchCommand{{Command: sleep}}, nil)
	case "create":
		var kept []*nutshell.Sandbox // a few, however fast the machine is
		for range 1000 {
			if kept = append(kept, f.create()); len(kept) > 8 {
				f.must(kept[0].Close())
				kept = kept[1:]
			}
		}
	case "files":
		for {
			_, err := s.Files.List(f.ctx, "/workspace", false)
			f.must(err)
		}
	}
	f.Fatal("it was not interrupted")
}

// leastTime is the shortest of three runs.
func leastTime(call func()) time.Duration {
	least := time.Hour
	for range 3 {
		began := time.Now()
		call()
		least = min(least, time.Since(began))
	}
	return least
}

// cancelledAtAnyTime makes sandboxes with contexts that end at ever later moments.
func cancelledAtAnyTime(f *fixture, _ []string) {
	s := f.create()
	defer s.Close()
	usual := leastTime(func() { f.must(f.create().Close()) })
	cancelled := 0
	for number := range 30 { // with what is still ending fewer than the quota
		for _, make := range []func(context.Context) (*nutshell.Sandbox, error){s.Fork, func(ctx context.Context) (*nutshell.Sandbox, error) {
			return nutshell.Create(ctx, nil)
		}} {
			ctx, cancel := context.WithTimeout(f.ctx, time.Duration(number)*usual/20)
			made, err := make(ctx)
			cancel()
			if err == nil {
				f.must(made.Close())
				continue
			}
			f.fails(err, "deadline_exceeded", "cancelled")
			cancelled++
		}
	}
	f.equal(cancelled > 4, true)
	f.until(func() bool {
		found, err := nutshell.List(f.ctx, nil, nil)
		f.must(err)
		return len(found) == 1
	}, "a sandbox is left")
}

// interruptedContext is a call that Ctrl-C cancels, so that Close runs.
func interruptedContext(f *fixture, _ []string) {
	ctx, stop := signal.NotifyContext(f.ctx, os.Interrupt)
	defer stop()
	s := f.create()
	defer s.Close()
	f.say("ready")
	_, err := s.Run(ctx, nutshell.Argv("sleep", "60"), &nutshell.RunOptions{Timeout: time.Minute})
	f.fails(err, "cancelled")
}

func callbackThatFails(f *fixture, _ []string) {
	s := f.create()
	defer s.Close()
	mine := errors.New("mine")
	_, err := s.Run(f.ctx, nutshell.Shell("echo x; exec sleep 4343"), &nutshell.RunOptions{OnStdout: func([]byte) error { return mine }})
	if err != mine {
		f.Fatal(err)
	}
	f.until(func() bool { return !f.isRunning(s, "sleep 434[3]") }, "the command runs on")
	func() {
		defer func() { f.equal(recover(), "mine") }()
		_, _ = s.Run(f.ctx, nutshell.Shell("echo x; exec sleep 4343"), &nutshell.RunOptions{OnStdout: func([]byte) error { panic("mine") }})
	}()
	f.until(func() bool { return !f.isRunning(s, "sleep 434[3]") }, "the command runs on")
	for piece, err := range s.Stream(f.ctx, nutshell.Shell("echo y; exec sleep 4343"), nil).Output() {
		f.must(err)
		f.equal(string(piece.Data), "y\n")
		break
	}
	f.until(func() bool { return !f.isRunning(s, "sleep 434[3]") }, "the command runs on")
	f.equal(f.stdout(s, "echo fine"), "fine\n")
}

func cancelled(f *fixture, _ []string) {
	s := f.create()
	defer s.Close()
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := s.Run(ctx, nutshell.Shell("sleep 4444 & setsid sleep 4444 & wait"), nil)
			return err
		},
		func(ctx context.Context) error {
			_, err := s.Stream(ctx, nutshell.Argv("sleep", "4444"), nil).Result()
			return err
		},
		func(ctx context.Context) error {
			_, err := s.Tools.Bash(ctx, nutshell.BashArgs{Command: "sleep 4444", Wait: nutshell.Ptr[int64](600)})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(f.ctx)
		done := make(chan error)
		go func() { done <- call(ctx) }()
		f.until(func() bool { return f.isRunning(s, "sleep 444[4]") }, "the command does not run")
		cancel()
		err := <-done
		f.fails(err, "cancelled")
		if !errors.Is(err, context.Canceled) {
			f.Fatal(err)
		}
		f.until(func() bool { return !f.isRunning(s, "sleep 444[4]") }, "the command runs on")
	}
	ctx, cancel := context.WithTimeout(f.ctx, 100*time.Millisecond)
	defer cancel()
	_, err := s.Run(ctx, nutshell.Argv("sleep", "4444"), nil)
	f.fails(err, "deadline_exceeded")
	done, err := s.Run(f.ctx, nutshell.Argv("sleep", "4444"), &nutshell.RunOptions{Timeout: 200 * time.Millisecond})
	f.must(err)
	f.equal(done.Outcome, "timed_out")
}

func hungDaemon(f *fixture, _ []string) {
	client := nutshell.NewClient(&nutshell.ClientOptions{Timeout: 300 * time.Millisecond})
	_, err := client.Health(f.ctx)
	f.must(err)
	f.say("ready")
	f.next() // it is stopped
	_, err = client.Health(f.ctx)
	f.fails(err, "deadline_exceeded")
	f.say("late")
	f.next() // it goes on
	found, err := client.Health(f.ctx)
	f.must(err)
	f.equal(found.Status, "ok")
}

func otherVersions(f *fixture, words []string) {
	for i, wanted := range []struct {
		code nutshell.ErrorCode
		word string
	}{{"unsupported", "v2"}, {"unsupported", "older"}, {"corrupt", ""}, {"code_of_later", "new"}, {"unavailable", ""}} {
		client := nutshell.NewClient(&nutshell.ClientOptions{Daemon: "http://127.0.0.1:" + words[i], Timeout: 5 * time.Second})
		_, err := nutshell.List(f.ctx, client, nil)
		if known := f.fails(err, wanted.code); !strings.Contains(known.Message, wanted.word) {
			f.Fatal(known)
		}
	}
}

func malformedAnswers(f *fixture, words []string) {
	for _, daemon := range words {
		began := time.Now()
		client := nutshell.NewClient(&nutshell.ClientOptions{Daemon: daemon, Timeout: 5 * time.Second})
		_, err := nutshell.List(f.ctx, client, nil)
		f.fails(err, "corrupt", "unavailable", "unsupported")
		if time.Since(began) > 4*time.Second {
			f.Fatalf("%s: it waited", daemon)
		}
	}
}

func sharedByMany(f *fixture, _ []string) {
	s := f.create()
	defer s.Close()
	var wait sync.WaitGroup
	for i := range 60 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			wanted, found := fmt.Sprintf("%d\n", i), ""
			var result *nutshell.ExecResult
			var err error
			switch i % 3 {
			case 0:
				result, err = s.Run(f.ctx, nutshell.Shell("echo "+strconv.Itoa(i)), nil)
			case 1:
				result, err = s.Stream(f.ctx, nutshell.Shell("echo "+strconv.Itoa(i)), nil).Result()
			default:
				if err = s.Files.WriteText(f.ctx, "f"+strconv.Itoa(i), wanted); err == nil {
					found, err = s.Files.ReadText(f.ctx, "f"+strconv.Itoa(i))
				}
			}
			if result != nil {
				found = result.Stdout
			}
			if err != nil || found != wanted {
				f.Errorf("%d: %q %v", i, found, err)
			}
		}()
	}
	wait.Wait()
}

func collected(f *fixture, _ []string) {
	count := func() int {
		found, err := nutshell.List(f.ctx, nil, nil)
		f.must(err)
		return len(found)
	}
	kept := f.create()
	f.create()
	f.create().Detach()
	f.until(func() bool { runtime.GC(); return count() == 2 }, "the sandbox is still there")
	f.equal(f.stdout(kept, "echo kept"), "kept\n")
	done := make(chan string)
	go func() { // the object is not named any more while its command runs
		result, err := f.create().Stream(f.ctx, nutshell.Shell("sleep 0.5; echo whole"), nil).Result()
		if err != nil {
			done <- err.Error()
			return
		}
		done <- result.Stdout
	}()
	for range 10 {
		time.Sleep(30 * time.Millisecond)
		runtime.GC()
	}
	f.equal(<-done, "whole\n")
	f.must(kept.Close())
	f.until(func() bool { runtime.GC(); return count() == 1 }, "a sandbox is left")
	left, err := nutshell.List(f.ctx, nil, nil)
	f.must(err)
	detached, err := nutshell.Connect(f.ctx, nil, left[0].ID)
	f.must(err)
	f.must(detached.Destroy(f.ctx))
}

func noGrowth(f *fixture, _ []string) {
	descriptors := func() int {
		found, err := os.ReadDir("/proc/self/fd")
		f.must(err)
		return len(found)
	}
	before := 0
	for round := range 10 {
		var wait sync.WaitGroup
		for range 20 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				s, err := nutshell.Create(f.ctx, &nutshell.Options{Memory: "64m"})
				if err != nil {
					f.Error(err)
					return
				}
				defer s.Close()
				if done, err := s.Run(f.ctx, nutshell.Argv("true"), nil); err != nil || !done.OK() {
					f.Error(done, err)
				}
			}()
		}
		wait.Wait()
		if round == 2 {
			before = descriptors()
		}
	}
	if now := descriptors(); now > before+20 { // connections that are kept: never more than callers at once
		f.Fatalf("%d descriptors became %d", before, now)
	}
	f.must(nutshell.DefaultClient().Close())
}

func schemas(f *fixture, _ []string) {
	tools := &nutshell.Tools{}
	all := nutshell.ToolDescriptions(nil)
	f.equal(len(tools.ForOpenAI(nil)), len(all))
	f.equal(len(tools.ForOpenAIResponses(nil)), len(all))
	f.equal(len(tools.ForAnthropic(&nutshell.SchemaOptions{Only: []string{"read"}})), 1)
	text, err := json.Marshal(tools.ForGemini(nil))
	f.must(err)
	f.equal(bytes.Contains(text, []byte("additionalProperties")), false)
	for _, tool := range nutshell.ToolDescriptions(&nutshell.SchemaOptions{ReadOnly: true}) {
		f.equal(tool.ReadsOnly, true)
	}
}

// surface says which of the methods are there, and checks the codes of errors.
func surface(f *fixture, words []string) {
	kinds := map[string]reflect.Type{"Client": reflect.TypeOf(&nutshell.Client{}), "Sandbox": reflect.TypeOf(&nutshell.Sandbox{}),
		"Session": reflect.TypeOf(&nutshell.Session{}), "Pool": reflect.TypeOf(&nutshell.Pool{}),
		"Files": reflect.TypeOf(&nutshell.Files{}), "Job": reflect.TypeOf(&nutshell.Job{})}
	// Functions that make objects; methods of the class in other languages.
	made := map[string]any{"Sandbox.Create": nutshell.Create, "Sandbox.Connect": nutshell.Connect, "Sandbox.List": nutshell.List,
		"Session.Open": nutshell.OpenSession, "Session.List": nutshell.ListSessions, "Pool.List": nutshell.ListPools}
	for _, word := range strings.Split(words[0], " ") {
		kind, name, _ := strings.Cut(word, ".")
		name = strings.ToUpper(name[:1]) + name[1:]
		if name == "Openapi" {
			name = "OpenAPI"
		}
		if _, is := kinds[kind].MethodByName(name); !is && made[kind+"."+name] == nil {
			f.Errorf("%s.%s is missing", kind, name)
		}
	}
	renamed := map[string]string{"MemoryBytes": "Memory", "DiskBytes": "Disk", "CPUTimeMS": "CPUTime", "TTLMS": "TTL", "IdleTimeoutMS": "IdleTimeout"}
	options := reflect.TypeOf(nutshell.Options{})
	for _, noun := range []reflect.Type{reflect.TypeOf(nutshell.SandboxSpec{}), reflect.TypeOf(nutshell.Limits{})} {
		for _, field := range reflect.VisibleFields(noun) {
			name := field.Name
			if renamed[name] != "" {
				name = renamed[name]
			}
			if _, is := options.FieldByName(name); !is && name != "Limits" {
				f.Errorf("Options has no %s", name)
			}
		}
	}
	codes := []string{}
	for _, code := range nutshell.ErrorCodes {
		codes = append(codes, string(code))
	}
	slices.Sort(codes)
	f.equal(strings.Join(codes, " "), words[1])
}
