package nutshell

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	defaultExecTimeout = 30 * time.Second
	mostInlineInput    = 4 << 20
)

var asLines = map[string]string{"Accept": "application/x-ndjson"}

// Command is what runs: a program and its arguments.
type Command struct {
	argv []string
}

// Shell is text that /bin/sh runs.
func Shell(text string) Command { return Command{[]string{"/bin/sh", "-c", text}} }

// Argv is a program and its arguments, which no shell reads.
func Argv(words ...string) Command { return Command{words} }

// RunOptions of a command. Zero values stand for the defaults.
type RunOptions struct {
	// Timeout is the time after which the command and all its processes are killed. Default: that of the sandbox, then 30 s.
	Timeout          time.Duration
	Stdin            []byte
	Environment      map[string]string
	WorkingDirectory string
	OutputLimitBytes int64
	CPUTime          time.Duration
	// Trace asks for more about the command: summary, files or full.
	Trace string
	// OnStdout and OnStderr are called with output as it comes. An error kills the command, and Run returns it.
	OnStdout, OnStderr func(data []byte) error
	// Check makes Run return a *CommandFailedError, beside the result, unless the command exits with 0.
	Check bool
}

// ExecResult is the outcome of a command. A command that fails is a result, not an error; see Check.
type ExecResult struct {
	// Outcome is exited, signalled, timed_out, out_of_memory, output_limit, cancelled or lost.
	Outcome          string
	ExitCode, Signal *int64
	// Stdout and Stderr are bytes as text.
	Stdout, Stderr                   string
	StdoutTruncated, StderrTruncated bool
	Duration, CPUTime                time.Duration
	PeakMemoryBytes                  int64
	// AuditID is the number of its record; see Sandbox.History.
	AuditID int64
	// Detail is one line more, where there is more to say.
	Detail string
	// Trace is what RunOptions.Trace asked for.
	Trace json.RawMessage
}

// OK tells whether the command exited with 0.
func (r *ExecResult) OK() bool { return r.Outcome == "exited" && r.ExitCode != nil && *r.ExitCode == 0 }

// Text is what a model should read: the output, and how the command ended unless with 0.
func (r *ExecResult) Text() string {
	var parts []string
	for _, part := range []string{r.Stdout, r.Stderr} {
		if part != "" {
			parts = append(parts, strings.TrimRight(part, "\n"))
		}
	}
	if !r.OK() {
		parts = append(parts, "["+r.Ending()+"]")
	}
	return strings.Join(parts, "\n")
}

// Ending tells in words how the command ended.
func (r *ExecResult) Ending() string {
	switch {
	case r.Outcome == "exited" && r.ExitCode != nil:
		return fmt.Sprintf("exit %d", *r.ExitCode)
	case r.Outcome == "signalled" && r.Signal != nil:
		return fmt.Sprintf("signal %d", *r.Signal)
	}
	words := map[string]string{"timed_out": "timed out", "out_of_memory": "out of memory", "output_limit": "too much output"}[r.Outcome]
	if words == "" {
		words = r.Outcome
	}
	if r.Detail != "" {
		words += ": " + r.Detail
	}
	return words
}

// Check gives a *CommandFailedError unless the command exited with 0.
func (r *ExecResult) Check() error {
	if r.OK() {
		return nil
	}
	return &CommandFailedError{r}
}

func milliseconds(number float64) time.Duration {
	return time.Duration(number * float64(time.Millisecond))
}

func textOr(text, encoded string) string {
	if encoded == "" {
		return text
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return text // readable, at least
	}
	return string(decoded)
}

func resultOf(end *ExecEnd) *ExecResult {
	return &ExecResult{Outcome: end.Outcome, ExitCode: end.ExitCode, Signal: end.Signal,
		Stdout: textOr(end.Stdout, end.StdoutBase64), Stderr: textOr(end.Stderr, end.StderrBase64),
		StdoutTruncated: end.StdoutTruncated, StderrTruncated: end.StderrTruncated, Duration: milliseconds(end.DurationMS),
		CPUTime: milliseconds(end.CPUTimeMS), PeakMemoryBytes: end.PeakMemoryBytes, AuditID: end.AuditID, Detail: end.Detail,
		Trace: end.Trace}
}

func (s *Sandbox) execRequest(command Command, options *RunOptions) (ExecRequest, time.Duration, error) {
	if len(command.argv) == 0 {
		return ExecRequest{}, 0, failure("invalid_argument", "the command is empty")
	}
	timeout := options.Timeout
	if timeout == 0 {
		timeout = s.timeout
	}
	request := ExecRequest{Argv: command.argv, Environment: options.Environment, WorkingDirectory: options.WorkingDirectory,
		TimeoutMS: timeout.Milliseconds(), OutputLimitBytes: options.OutputLimitBytes, CPUTimeMS: options.CPUTime.Milliseconds(),
		Trace: options.Trace}
	if timeout == 0 {
		timeout = defaultExecTimeout
	} else if request.TimeoutMS < 1 {
		return ExecRequest{}, 0, failure("invalid_argument", "the timeout must be at least a millisecond")
	}
	return request, timeout + s.client.timeout, nil
}

// withInputFile puts the input into a file that the command reads, and removes before it begins.
func (s *Sandbox) withInputFile(ctx context.Context, request *ExecRequest, input []byte) error {
	if input == nil {
		return nil
	}
	name := make([]byte, 12)
	_, _ = rand.Read(name) // never fails
	path := "/tmp/.nutshell-stdin-" + hex.EncodeToString(name)
	query := url.Values{"path": {path}, "mode": {"0600"}}
	if err := s.json(ctx, "writeFile", call{query: query, body: bytes.NewReader(input)}, nil); err != nil {
		return err
	}
	script := `exec <"$0" && rm -f -- "$0" && exec "$@"`
	request.Argv = append([]string{"/bin/sh", "-c", script, path}, request.Argv...)
	return nil
}

// Run runs a command to its end.
func (s *Sandbox) Run(ctx context.Context, command Command, options *RunOptions) (*ExecResult, error) {
	if options == nil {
		options = &RunOptions{}
	}
	run := s.runWaiting
	if options.OnStdout != nil || options.OnStderr != nil {
		run = s.runStreamed
	}
	result, err := run(ctx, command, options)
	if err == nil && options.Check {
		err = result.Check()
	}
	return result, err
}

func (s *Sandbox) runWaiting(ctx context.Context, command Command, options *RunOptions) (*ExecResult, error) {
	request, wait, err := s.execRequest(command, options)
	if err != nil {
		return nil, err
	}
	body := struct {
		ExecRequest
		Stdin *string `json:"stdin,omitempty"`
	}{ExecRequest: request}
	// JSON carries text, and only so much.
	if len(options.Stdin) <= mostInlineInput && utf8.Valid(options.Stdin) && options.Stdin != nil {
		text := string(options.Stdin)
		body.Stdin = &text
	} else if err := s.withInputFile(ctx, &body.ExecRequest, options.Stdin); err != nil {
		return nil, err
	}
	var end ExecEnd
	if err := s.json(ctx, "exec", call{json: body, timeout: wait}, &end); err != nil {
		return nil, err
	}
	return resultOf(&end), nil
}

func (s *Sandbox) runStreamed(ctx context.Context, command Command, options *RunOptions) (*ExecResult, error) {
	execution := s.Stream(ctx, command, options)
	for piece, err := range execution.Output() {
		if err != nil {
			return nil, err
		}
		tell := options.OnStdout
		if piece.Stream == "stderr" {
			tell = options.OnStderr
		}
		if tell != nil {
			if err := tell(piece.Data); err != nil {
				return nil, err
			}
		}
	}
	return execution.Result()
}

// Output is a piece of what a command writes. Stream is stdout or stderr.
type Output struct {
	Stream string
	Data   []byte
}

type execEvent struct {
	Type       string `json:"type"`
	ExecID     string `json:"exec_id"`
	Data       string `json:"data"`
	DataBase64 string `json:"data_base64"`
	Code       string `json:"code"`
	ExecEnd
}

// Execution is a command whose output is read while it runs.
type Execution struct {
	open func() (Stream, error)

	mutex          sync.Mutex
	hasBegun       bool
	result         *ExecResult
	err            error
	stdout, stderr bytes.Buffer
}

// Stream is a body of lines.
type Stream interface {
	Read(bytes []byte) (int, error)
	Close() error
}

// Output gives output as it comes, once. Leaving the loop early kills the command, or ends the look at a job.
func (e *Execution) Output() iter.Seq2[Output, error] {
	return func(yield func(Output, error) bool) {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		if e.hasBegun {
			yield(Output{}, failure("conflict", "the output of this command was read already"))
			return
		}
		e.hasBegun = true
		e.err = failure("cancelled", "the command was stopped before its end")
		if err := e.read(yield); err != nil {
			e.err = err
			yield(Output{}, err)
		}
	}
}

func (e *Execution) read(yield func(Output, error) bool) error {
	stream, err := e.open()
	if err != nil {
		return err
	}
	defer stream.Close()
	for event, err := range lines[execEvent](stream) {
		if err != nil {
			return failureOf(context.Background(), "exec", err)
		}
		switch event.Type {
		case "stdout", "stderr":
			if !yield(e.keep(event), nil) {
				return nil
			}
		case "end":
			e.result, e.err = resultOf(&event.ExecEnd), nil
			e.result.Stdout, e.result.Stderr = e.stdout.String(), e.stderr.String()
			return nil
		case "error":
			return &Error{Code: ErrorCode(event.Code), Message: event.Detail}
		case "running":
			return failure("deadline_exceeded", "the command still runs; read on with its id")
		}
	}
	return failure("unavailable", "the daemon ended the stream before the command's end")
}

func (e *Execution) keep(event *execEvent) Output {
	data := []byte(textOr(event.Data, event.DataBase64))
	if event.Type == "stdout" {
		e.stdout.Write(data)
	} else {
		e.stderr.Write(data)
	}
	return Output{event.Type, data}
}

// Result reads what is left, and gives the result with all output.
func (e *Execution) Result() (*ExecResult, error) {
	e.mutex.Lock()
	hasBegun := e.hasBegun
	e.mutex.Unlock()
	if !hasBegun {
		for _, err := range e.Output() {
			if err != nil {
				return nil, err
			}
		}
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.result, e.err
}

// keptStream keeps the sandbox alive until its stream is closed.
type keptStream struct {
	Stream
	cancel context.CancelFunc
	owner  *Sandbox
}

func (k *keptStream) Close() error {
	k.cancel()
	err := k.Stream.Close()
	runtime.KeepAlive(k.owner)
	return err
}

func (s *Sandbox) stream(ctx context.Context, operation string, request call) (Stream, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	request.header = asLines
	response, cancel, err := s.client.open(ctx, operation, request.in(s.ID))
	if err != nil {
		return nil, err
	}
	return &keptStream{response.Body, cancel, s}, nil
}

// Stream runs a command, and gives its output as it comes. It begins when its output is read.
func (s *Sandbox) Stream(ctx context.Context, command Command, options *RunOptions) *Execution {
	if options == nil {
		options = &RunOptions{}
	}
	return &Execution{open: func() (Stream, error) {
		request, wait, err := s.execRequest(command, options)
		if err != nil {
			return nil, err
		}
		if err := s.withInputFile(ctx, &request, options.Stdin); err != nil {
			return nil, err
		}
		request.OnDisconnect = "cancel"
		return s.stream(ctx, "exec", call{json: request, timeout: wait})
	}}
}

// Job is a command that runs without its caller.
type Job struct {
	ExecID  string
	sandbox *Sandbox
}

// Start starts a command that runs without its caller.
func (s *Sandbox) Start(ctx context.Context, command Command, options *RunOptions) (*Job, error) {
	if options == nil {
		options = &RunOptions{}
	}
	request, _, err := s.execRequest(command, options)
	if err != nil {
		return nil, err
	}
	if err := s.withInputFile(ctx, &request, options.Stdin); err != nil {
		return nil, err
	}
	request.Detach = true
	var state ExecState
	if err := s.json(ctx, "exec", call{json: request}, &state); err != nil {
		return nil, err
	}
	return s.Job(state.ExecID), nil
}

// Job is a command that was started before, by its id.
func (s *Sandbox) Job(execID string) *Job { return &Job{execID, s} }

func (j *Job) call(request call) call {
	request.path = map[string]string{"exec": j.ExecID}
	return request
}

// Status tells whether the command runs.
func (j *Job) Status(ctx context.Context) (*ExecState, error) {
	var state ExecState
	err := j.sandbox.json(ctx, "getExec", j.call(call{}), &state)
	return &state, err
}

// Follow gives the output from these offsets on. Leaving the loop early lets the command run on.
func (j *Job) Follow(ctx context.Context, stdoutOffset, stderrOffset int64) *Execution {
	query := url.Values{"stdout_offset": {strconv.FormatInt(stdoutOffset, 10)}, "stderr_offset": {strconv.FormatInt(stderrOffset, 10)}}
	return &Execution{open: func() (Stream, error) {
		return j.sandbox.stream(ctx, "getExec", j.call(call{query: query, timeout: noTimeout}))
	}}
}

// Wait waits for the end, and gives the result with all output that is kept.
func (j *Job) Wait(ctx context.Context) (*ExecResult, error) { return j.Follow(ctx, 0, 0).Result() }

// Signal sends a signal to the command.
func (j *Job) Signal(ctx context.Context, number int) error {
	return j.sandbox.json(ctx, "signalExec", j.call(call{json: Signal{Signal: int64(number)}}), nil)
}

// Kill ends the command with all its processes.
func (j *Job) Kill(ctx context.Context) error {
	return j.sandbox.json(ctx, "signalExec", j.call(call{json: Signal{}}), nil)
}
