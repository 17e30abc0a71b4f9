package nutshell

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1" // as RFC 6455 has it; nothing is kept secret by it
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const (
	webSocketMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	mostFrameBytes = 16 << 20
)

// Kinds of frames of RFC 6455.
const (
	frameContinuation = 0
	frameText         = 1
	frameBinary       = 2
	frameClose        = 8
	framePing         = 9
	framePong         = 10
)

// TerminalOptions of a terminal. Zero values stand for the defaults.
type TerminalOptions struct {
	// Command is the program and its arguments. Default: /bin/sh.
	Command       Command
	Rows, Columns int
	Timeout       time.Duration
}

// Terminal is a command at a terminal. Read gives what it shows, Write types. One goroutine may read while others write.
type Terminal struct {
	sandbox *Sandbox
	stream  io.ReadWriteCloser
	cancel  context.CancelFunc
	reader  *bufio.Reader
	shown   []byte

	writing sync.Mutex
	mutex   sync.Mutex
	result  *ExecResult
	err     error
}

// Terminal opens a terminal over a WebSocket. It ends with the context.
func (s *Sandbox) Terminal(ctx context.Context, options *TerminalOptions) (*Terminal, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if options == nil {
		options = &TerminalOptions{}
	}
	query := url.Values{"arg": options.Command.argv}
	for name, value := range map[string]int64{"rows": int64(options.Rows), "columns": int64(options.Columns),
		"timeout_ms": options.Timeout.Milliseconds()} {
		if value != 0 {
			query.Set(name, strconv.FormatInt(value, 10))
		}
	}
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	key := base64.StdEncoding.EncodeToString(random)
	header := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}
	response, cancel, err := s.client.open(ctx, "openTerminal", call{query: query, header: header, timeout: noTimeout}.in(s.ID))
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(key + webSocketMagic))
	stream, is := response.Body.(io.ReadWriteCloser)
	accepted := response.Header.Get("Sec-WebSocket-Accept") == base64.StdEncoding.EncodeToString(sum[:])
	if !is || response.StatusCode != http.StatusSwitchingProtocols || !accepted {
		cancel()
		_ = response.Body.Close() // refused
		return nil, failure("corrupt", "the daemon's WebSocket handshake is wrong")
	}
	return &Terminal{sandbox: s, stream: stream, cancel: cancel, reader: bufio.NewReader(stream)}, nil
}

func (t *Terminal) send(kind byte, data []byte) error {
	frame := []byte{0x80 | kind}
	switch {
	case len(data) < 126:
		frame = append(frame, 0x80|byte(len(data)))
	case len(data) < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(len(data)))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(len(data)))
	}
	mask := make([]byte, 4)
	_, _ = rand.Read(mask) // never fails
	frame = append(frame, mask...)
	for i, one := range data {
		frame = append(frame, one^mask[i&3])
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	if _, err := t.stream.Write(frame); err != nil {
		return failureOf(context.Background(), "terminal", err)
	}
	return nil
}

// Write types.
func (t *Terminal) Write(input []byte) (int, error) {
	const most = 32 << 10
	for begin := 0; begin < len(input); begin += most {
		if err := t.send(frameBinary, input[begin:min(len(input), begin+most)]); err != nil {
			return begin, err
		}
	}
	return len(input), nil
}

// Resize tells the terminal's new size.
func (t *Terminal) Resize(rows, columns int) error {
	text, _ := json.Marshal(map[string]int{"rows": rows, "columns": columns}) // numbers always have JSON
	return t.send(frameText, text)
}

// Signal sends a signal to the command.
func (t *Terminal) Signal(number int) error {
	text, _ := json.Marshal(map[string]int{"signal": number}) // numbers always have JSON
	return t.send(frameText, text)
}

// Read gives what the terminal shows; io.EOF after the command's end.
func (t *Terminal) Read(into []byte) (int, error) {
	defer runtime.KeepAlive(t.sandbox)
	for len(t.shown) == 0 {
		if err := t.next(); err != nil {
			return 0, err
		}
	}
	count := copy(into, t.shown)
	t.shown = t.shown[count:]
	return count, nil
}

// next reads a message.
func (t *Terminal) next() error {
	t.mutex.Lock()
	done, failed := t.result != nil, t.err
	t.mutex.Unlock()
	if failed != nil {
		return failed
	}
	if done {
		return io.EOF
	}
	err := t.readMessage()
	if err != nil && err != io.EOF {
		if err == io.ErrUnexpectedEOF {
			err = failure("unavailable", "the connection to the daemon broke")
		}
		t.mutex.Lock()
		t.err = err
		t.mutex.Unlock()
	}
	return err
}

func (t *Terminal) readMessage() error {
	var message []byte
	kind := byte(0)
	for {
		isLast, one, data, err := t.readFrame()
		if err != nil {
			return err
		}
		switch {
		case one == framePing:
			if err := t.send(framePong, data); err != nil {
				return err
			}
			continue
		case one == frameClose:
			return failure("unavailable", "the daemon closed the terminal before the command's end")
		case one > frameBinary:
			continue
		case one != frameContinuation:
			kind, message = one, nil
		}
		if message = append(message, data...); len(message) > mostFrameBytes {
			return failure("corrupt", "the daemon sent a message beyond the limit")
		}
		if isLast {
			break
		}
	}
	if kind == frameBinary {
		t.shown = message
		return nil
	}
	return t.finish(message)
}

func (t *Terminal) readFrame() (isLast bool, kind byte, data []byte, err error) {
	head := make([]byte, 2, 8)
	if _, err = io.ReadFull(t.reader, head); err != nil {
		return false, 0, nil, broken(err)
	}
	if head[0]&0x70 != 0 || head[1]&0x80 != 0 {
		return false, 0, nil, failure("corrupt", "the daemon sent a malformed WebSocket frame")
	}
	isLast, kind = head[0]&0x80 != 0, head[0]&0x0f
	size := uint64(head[1])
	if more := map[uint64]int{126: 2, 127: 8}[size]; more > 0 {
		if _, err = io.ReadFull(t.reader, head[:more]); err != nil {
			return false, 0, nil, broken(err)
		}
		size = 0
		for _, one := range head[:more] {
			size = size<<8 | uint64(one)
		}
	}
	if size > mostFrameBytes {
		return false, 0, nil, failure("corrupt", "the daemon sent a WebSocket frame beyond the limit")
	}
	data = make([]byte, size)
	if _, err = io.ReadFull(t.reader, data); err != nil {
		return false, 0, nil, broken(err)
	}
	return isLast, kind, data, nil
}

func broken(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return failureOf(context.Background(), "terminal", err)
}

func (t *Terminal) finish(text []byte) error {
	var last struct {
		Code string
		ExecEnd
	}
	if err := json.Unmarshal(text, &last); err != nil {
		return &Error{Code: "corrupt", Message: "the daemon's last word is no JSON", Err: err}
	}
	if last.Code != "" {
		return &Error{Code: ErrorCode(last.Code), Message: last.Detail}
	}
	t.mutex.Lock()
	t.result = resultOf(&last.ExecEnd)
	t.mutex.Unlock()
	return io.EOF
}

// Result reads on to the end; the result's Stdout is empty, because the output was shown.
func (t *Terminal) Result() (*ExecResult, error) {
	if _, err := io.Copy(io.Discard, t); err != nil {
		return nil, err
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.result, nil
}

// Close ends the command, if it still runs.
func (t *Terminal) Close() error {
	t.cancel()
	return t.stream.Close()
}
