// Package nutshell runs commands, edits files and calls tools in sandboxes of Nutshell.
//
//	s, err := nutshell.Create(ctx, nil)
//	if err != nil { … }
//	defer s.Close()
//	done, err := s.Run(ctx, nutshell.Shell("uname -a"), nil)
//
// It finds the user's daemon, or else starts one that ends with this process.
package nutshell

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	defaultTimeout       = 60 * time.Second
	defaultCreateTimeout = 10 * time.Minute
	mostLineBytes        = 256 << 20
	pageSize             = 500
)

// ClientOptions say which daemon is used, and how.
type ClientOptions struct {
	// Daemon is a Unix socket, https://host:port, or "private" for a daemon of this process. Default: NUTSHELL_DAEMON, then
	// your own.
	Daemon string
	// Token of a named daemon. Default: NUTSHELL_TOKEN, or the file that NUTSHELL_TOKEN_FILE names.
	Token string
	// CA, Cert and Key are PEM files: the authority to trust, and a client certificate. Defaults: NUTSHELL_DAEMON_CA,
	// NUTSHELL_DAEMON_CERT, NUTSHELL_DAEMON_KEY.
	CA, Cert, Key string
	// Timeout is the longest wait for an answer, beside the time of the command that it waits for. Default: 60 s.
	Timeout time.Duration
	// CreateTimeout is the longest wait for a new sandbox, whose image may have to be pulled. Default: 10 minutes.
	CreateTimeout time.Duration
}

// Client holds connections to a daemon. Goroutines may share it.
type Client struct {
	options                ClientOptions
	timeout, createTimeout time.Duration

	mutex      sync.Mutex
	connection *connection
	isClosed   bool
}

// NewClient makes a client. It connects at its first call.
func NewClient(options *ClientOptions) *Client {
	client := &Client{timeout: defaultTimeout, createTimeout: defaultCreateTimeout}
	if options != nil {
		client.options = *options
	}
	if client.options.Timeout > 0 {
		client.timeout = client.options.Timeout
	}
	if client.options.CreateTimeout > 0 {
		client.createTimeout = client.options.CreateTimeout
	}
	return client
}

var shared struct {
	sync.Mutex
	client *Client
}

// DefaultClient is the client of all objects that are made without one.
func DefaultClient() *Client {
	shared.Lock()
	defer shared.Unlock()
	if shared.client == nil {
		shared.client = NewClient(nil)
	}
	return shared.client
}

func orDefault(client *Client) *Client {
	if client == nil {
		return DefaultClient()
	}
	return client
}

// Close closes its connections. Sandboxes go on.
func (c *Client) Close() error {
	shared.Lock()
	if shared.client == c {
		shared.client = nil
	}
	shared.Unlock()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.isClosed = true
	if c.connection != nil {
		c.connection.http.CloseIdleConnections()
		c.connection = nil
	}
	return nil
}

// Health asks whether the daemon answers.
func (c *Client) Health(ctx context.Context) (*Status, error) {
	return get[Status](ctx, c, "health", call{})
}

// Ready asks whether the daemon can take work.
func (c *Client) Ready(ctx context.Context) (*Status, error) {
	return get[Status](ctx, c, "readiness", call{})
}

// Daemon tells who answers.
func (c *Client) Daemon(ctx context.Context) (*Daemon, error) {
	return get[Daemon](ctx, c, "daemon", call{})
}

// OpenAPI is the daemon's description of its API.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	found, err := get[json.RawMessage](ctx, c, "openapi", call{})
	if err != nil {
		return nil, err
	}
	return *found, nil
}

// Metrics are figures, as Prometheus reads them.
func (c *Client) Metrics(ctx context.Context) (string, error) {
	response, cancel, err := c.open(ctx, "metrics", call{header: map[string]string{"Accept": "text/plain"}})
	if err != nil {
		return "", err
	}
	defer cancel()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// Tools are the daemon's tools; Sandbox.Tools has those that this package knows.
func (c *Client) Tools(ctx context.Context) ([]ToolDescription, error) {
	var answer struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage
			Annotations       struct{ ReadOnlyHint bool }
		}
	}
	if err := c.json(ctx, "listTools", call{}, &answer); err != nil {
		return nil, err
	}
	var found []ToolDescription
	for _, tool := range answer.Tools {
		found = append(found, ToolDescription{tool.Name, tool.Description, tool.InputSchema, tool.Annotations.ReadOnlyHint})
	}
	return found, nil
}

// Check gives the protections that a sandbox of these options would have.
func (c *Client) Check(ctx context.Context, options *Options) ([]Protection, error) {
	spec, err := options.spec()
	if err != nil {
		return nil, err
	}
	found, err := get[Protections](ctx, c, "checkSpec", call{json: spec})
	if err != nil {
		return nil, err
	}
	return found.Protections, nil
}

// BatchCommand is a command of a batch, which runs in a sandbox of its own.
type BatchCommand struct {
	Command          Command
	Environment      map[string]string
	WorkingDirectory string
	Timeout          time.Duration
	// Files by their paths, written before the command begins.
	Files map[string]string
}

// BatchResult is how a command of a batch ended. Err is set if its sandbox could not be made.
type BatchResult struct {
	*ExecResult
	Err error
}

// BatchOptions of a batch.
type BatchOptions struct {
	// Sandbox has the options of each command's sandbox.
	Sandbox  *Options
	Parallel int
	// OutputBytes are kept of each stream.
	OutputBytes int64
	// OnResult is told of each result as it comes, in any order. An error ends the batch.
	OnResult func(index int, result BatchResult) error
}

type batchLine struct {
	ExecEnd
	Index int
	Error *struct{ Code, Detail string }
}

// Batch runs each command in a sandbox of its own, and gives the results in the order of the commands.
func (c *Client) Batch(ctx context.Context, commands []BatchCommand, options *BatchOptions) ([]BatchResult, error) {
	if options == nil {
		options = &BatchOptions{}
	}
	request, err := batchRequest(commands, options)
	if err != nil {
		return nil, err
	}
	response, cancel, err := c.open(ctx, "batch", call{json: request, timeout: noTimeout, header: asLines})
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer response.Body.Close()
	results, done := make([]BatchResult, len(commands)), 0
	for line, err := range lines[batchLine](response.Body) {
		if err != nil {
			return nil, failureOf(ctx, "batch", err)
		}
		if line.Index < 0 || line.Index >= len(results) || results[line.Index] != (BatchResult{}) {
			return nil, failure("corrupt", "the daemon sent a result that nobody asked for")
		}
		result := BatchResult{}
		if line.Error != nil {
			result.Err = &Error{Code: ErrorCode(line.Error.Code), Message: line.Error.Detail}
		} else {
			result.ExecResult = resultOf(&line.ExecEnd)
		}
		results[line.Index] = result
		done++
		if options.OnResult != nil {
			if err := options.OnResult(line.Index, result); err != nil {
				return nil, err
			}
		}
	}
	if done != len(commands) {
		return nil, failure("unavailable", "the daemon ended the batch after %d of %d results", done, len(commands))
	}
	return results, nil
}

func batchRequest(commands []BatchCommand, options *BatchOptions) (any, error) {
	spec, err := options.Sandbox.spec()
	if err != nil {
		return nil, err
	}
	items := []BatchItem{}
	for _, one := range commands {
		items = append(items, BatchItem{Argv: one.Command.argv, Environment: one.Environment, WorkingDirectory: one.WorkingDirectory,
			TimeoutMS: one.Timeout.Milliseconds(), Files: one.Files})
	}
	return BatchRequest{Items: items, Spec: spec, Parallel: int64(options.Parallel), OutputBytes: options.OutputBytes}, nil
}

// AuditOptions choose records.
type AuditOptions struct {
	Sandbox, Session, Action string
	Since, Until             time.Time
	// Limit is the most records, the oldest first. Default: all.
	Limit int
}

// Audit gives records of what the caller did, oldest first.
func (c *Client) Audit(ctx context.Context, options *AuditOptions) ([]AuditRecord, error) {
	query, limit := url.Values{}, 0
	if options != nil {
		limit = options.Limit
		for name, value := range map[string]string{"sandbox": options.Sandbox, "session": options.Session, "action": options.Action} {
			if value != "" {
				query.Set(name, value)
			}
		}
		if !options.Since.IsZero() {
			query.Set("since_us", strconv.FormatInt(options.Since.UnixMicro(), 10))
		}
		if !options.Until.IsZero() {
			query.Set("until_us", strconv.FormatInt(options.Until.UnixMicro(), 10))
		}
	}
	return pages[AuditRecord](ctx, c, "listAuditRecords", "records", query, limit)
}

// Sweep removes what dead sandboxes left, or only tells it.
func (c *Client) Sweep(ctx context.Context, isDryRun bool) (*Swept, error) {
	return get[Swept](ctx, c, "sweep", call{json: Sweep{DryRun: isDryRun}})
}

func get[T any](ctx context.Context, c *Client, operation string, request call) (*T, error) {
	var found T
	if err := c.json(ctx, operation, request, &found); err != nil {
		return nil, err
	}
	return &found, nil
}

// pages reads a list to its end, or up to `most` if that is not 0.
func pages[T any](ctx context.Context, c *Client, operation, key string, query url.Values, most int) ([]T, error) {
	found := []T{}
	for {
		size := pageSize
		if most > 0 {
			size = min(size, most-len(found))
		}
		query.Set("limit", strconv.Itoa(size))
		var page map[string]json.RawMessage
		if err := c.json(ctx, operation, call{query: query}, &page); err != nil {
			return nil, err
		}
		var items []T
		var cursor *string
		if err := json.Unmarshal(page[key], &items); err != nil {
			return nil, &Error{Code: "corrupt", Message: operation + ": the answer has no list " + key, Err: err}
		}
		if text := page["next_cursor"]; text != nil && json.Unmarshal(text, &cursor) != nil {
			return nil, failure("corrupt", "%s: the cursor is no text", operation)
		}
		found = append(found, items...)
		if cursor == nil || (most > 0 && len(found) >= most) {
			return found, nil
		}
		query.Set("cursor", *cursor)
	}
}

// lines reads lines of JSON.
func lines[T any](from io.Reader) func(yield func(*T, error) bool) {
	return func(yield func(*T, error) bool) {
		scanner := bufio.NewScanner(from)
		scanner.Buffer(nil, mostLineBytes)
		for scanner.Scan() {
			var one T
			if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
				yield(nil, &Error{Code: "corrupt", Message: "the daemon sent a line that is not what was expected", Err: err})
				return
			}
			if !yield(&one, nil) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			yield(nil, err)
		}
	}
}
