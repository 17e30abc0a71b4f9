package nutshell

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	idleTime         = 30 * time.Second // below the 75 s after which the daemon closes a connection
	mostProblemBytes = 1 << 20
	noTimeout        = time.Duration(-1)
)

// connection is a daemon that was found, and the connections to it.
type connection struct {
	target *target
	http   *http.Client
	base   string
}

// call is a request of an operation.
type call struct {
	path    map[string]string
	query   url.Values
	header  map[string]string
	json    any       // sent as JSON
	body    io.Reader // sent as it is
	timeout time.Duration
}

func (c call) in(id string) call {
	path := map[string]string{"id": id}
	for name, value := range c.path {
		path[name] = value
	}
	c.path = path
	return c
}

func (c call) url(base, path string) string {
	for name, value := range c.path {
		// Dots alone would name another path.
		if strings.Trim(value, ".") == "" {
			value = "\x00" + value
		}
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	if len(c.query) > 0 {
		path += "?" + c.query.Encode()
	}
	return base + path
}

func newConnection(t *target) (*connection, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: idleTime, DisableCompression: true}
	if t.socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", t.socket)
		}
		return &connection{t, &http.Client{Transport: transport}, "http://localhost"}, nil
	}
	if t.url.Scheme == "https" {
		config, err := tlsConfig(t)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = config
	}
	return &connection{t, &http.Client{Transport: transport}, t.url.Scheme + "://" + t.url.Host}, nil
}

func tlsConfig(t *target) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.ca != "" {
		text, err := os.ReadFile(t.ca)
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, failure("invalid_argument", "%s holds no certificate authority", t.ca)
		}
	}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, &Error{Code: "invalid_argument", Message: "the client certificate cannot be used: " + err.Error(), Err: err}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// connect gives the connection to the daemon, which is chosen at the first call.
func (c *Client) connect(ctx context.Context) (*connection, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.isClosed {
		return nil, failure(CodeClosed, "the client was closed")
	}
	if c.connection != nil {
		return c.connection, nil
	}
	found, err := chooseTarget(ctx, &c.options)
	if err != nil {
		return nil, err
	}
	made, err := newConnection(found)
	if err != nil {
		return nil, err
	}
	if err := c.checkVersion(ctx, made); err != nil {
		made.http.CloseIdleConnections()
		return nil, err
	}
	c.connection = made
	return made, nil
}

func (c *Client) checkVersion(ctx context.Context, made *connection) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response, err := c.once(ctx, made, "daemon", call{}, nil)
	if err != nil {
		return failureOf(ctx, "daemon", err)
	}
	var told Daemon
	if err := readJSON(ctx, "daemon", response, &told); err != nil {
		return err
	}
	if told.API != apiVersion {
		return failure("unsupported", "the daemon speaks the API %s, and this package %s: use versions of the two that "+
			"belong together", told.API, apiVersion)
	}
	return nil
}

func (c *Client) forget(known *connection) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.connection == known {
		c.connection = nil
	}
	known.http.CloseIdleConnections()
}

// open sends a request; the caller closes the body of its answer, and calls the function when it is done.
func (c *Client) open(ctx context.Context, operation string, request call) (*http.Response, context.CancelFunc, error) {
	if request.timeout == 0 {
		request.timeout = c.timeout
	}
	cancel := context.CancelFunc(func() {})
	if request.timeout != noTimeout {
		late := failure("deadline_exceeded", "%s: the daemon did not answer within %s", operation, request.timeout)
		late.Err = context.DeadlineExceeded
		ctx, cancel = context.WithTimeoutCause(ctx, request.timeout, late)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	response, err := c.send(ctx, operation, request)
	if err != nil {
		err = failureOf(ctx, operation, err)
		cancel()
		return nil, nil, err
	}
	response.Body = &body{ctx, operation, response.Body}
	return response, cancel, nil
}

func (c *Client) send(ctx context.Context, operation string, request call) (*http.Response, error) {
	var text []byte
	if request.json != nil {
		var err error
		if text, err = json.Marshal(request.json); err != nil {
			return nil, &Error{Code: "invalid_argument", Message: operation + ": " + err.Error(), Err: err}
		}
	}
	for attempt := 0; ; attempt++ {
		made, err := c.connect(ctx)
		if err != nil {
			return nil, err
		}
		response, err := c.once(ctx, made, operation, request, text)
		var dial *net.OpError
		if err == nil {
			return response, nil
		}
		if ctx.Err() != nil || !errors.As(err, &dial) || dial.Op != "dial" {
			return nil, err
		}
		c.forget(made)
		if attempt > 0 {
			return nil, &Error{Code: "unavailable", Message: "no daemon answers: " + err.Error(), Err: err}
		}
	}
}

func (c *Client) once(ctx context.Context, made *connection, operation string, request call, text []byte) (*http.Response, error) {
	known := operations[operation]
	var content io.Reader = request.body
	if text != nil {
		content = bytes.NewReader(text)
	}
	sent, err := http.NewRequestWithContext(ctx, known.method, request.url(made.base, known.path), content)
	if err != nil {
		return nil, &Error{Code: "invalid_argument", Message: operation + ": " + err.Error(), Err: err}
	}
	sent.Header.Set("Accept", "application/json")
	if text != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	for name, value := range request.header {
		sent.Header.Set(name, value)
	}
	if made.target.token != "" {
		sent.Header.Set("Authorization", "Bearer "+made.target.token)
	}
	response, err := made.http.Do(sent)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		return nil, refusal(operation, response)
	}
	return response, nil
}

// refusal reads a problem document.
func refusal(operation string, response *http.Response) error {
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostProblemBytes))
	if err != nil {
		return err
	}
	var problem Problem
	status := response.StatusCode
	if json.Unmarshal(text, &problem) == nil && problem.Code != "" {
		message := problem.Detail
		if message == "" {
			message = problem.Title
		}
		return &Error{Code: ErrorCode(problem.Code), Message: message, Status: status}
	}
	known := &Error{Code: "internal", Message: fmt.Sprintf("%s: the server answered %d", operation, status), Status: status}
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		known.Code = "unsupported"
		known.Message = fmt.Sprintf("the server knows no %s: it is older than this package, or no nutshelld", operation)
	} else if status >= 500 {
		known.Code = "unavailable"
	}
	return known
}

// body makes failures of reading typed.
type body struct {
	ctx       context.Context
	operation string
	io.ReadCloser
}

func (b *body) Read(bytes []byte) (int, error) {
	count, err := b.ReadCloser.Read(bytes)
	if err != nil && err != io.EOF {
		err = failureOf(b.ctx, b.operation, err)
	}
	return count, err
}

// Write is for a connection that was upgraded.
func (b *body) Write(bytes []byte) (int, error) {
	writer, is := b.ReadCloser.(io.Writer)
	if !is {
		return 0, failure("corrupt", "%s: the daemon did not upgrade the connection", b.operation)
	}
	return writer.Write(bytes)
}

func readJSON(ctx context.Context, operation string, response *http.Response, into any) error {
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return failureOf(ctx, operation, err)
	}
	if into == nil || len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &Error{Code: "corrupt", Message: operation + ": the answer is not what was expected: " + err.Error(), Err: err}
	}
	return nil
}

// json sends a request and reads its answer into a value, or drops it.
func (c *Client) json(ctx context.Context, operation string, request call, into any) error {
	response, cancel, err := c.open(ctx, operation, request)
	if err != nil {
		return err
	}
	defer cancel()
	return readJSON(ctx, operation, response, into)
}
