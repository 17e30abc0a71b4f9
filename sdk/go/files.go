package nutshell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const defaultWatchInterval = 250 * time.Millisecond

// Files of a sandbox.
type Files struct {
	sandbox *Sandbox
}

const workspace = "/workspace"

// absolute makes a relative path begin at /workspace.
func absolute(name string) string {
	if name == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return workspace + "/" + name
}

func pathQuery(name string) url.Values { return url.Values{"path": {absolute(name)}} }

// Open gives a file's bytes from `offset` on, at most `length` of them unless that is negative.
func (f *Files) Open(ctx context.Context, path string, offset, length int64) (io.ReadCloser, error) {
	if err := f.sandbox.check(); err != nil {
		return nil, err
	}
	if length == 0 {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	header := map[string]string{"Accept": "application/octet-stream, application/problem+json"}
	if offset > 0 || length > 0 {
		header["Range"] = fmt.Sprintf("bytes=%d-", offset)
		if length > 0 {
			header["Range"] += fmt.Sprint(offset + length - 1)
		}
	}
	request := call{query: pathQuery(path), header: header, timeout: noTimeout}
	response, cancel, err := f.sandbox.client.open(ctx, "readFile", request.in(f.sandbox.ID))
	var known *Error
	if errors.As(err, &known) && known.Status == 416 {
		return io.NopCloser(bytes.NewReader(nil)), nil // begins behind its end
	}
	if err != nil {
		return nil, err
	}
	return &keptStream{response.Body, cancel, f.sandbox}, nil
}

// Read gives a whole file.
func (f *Files) Read(ctx context.Context, path string) ([]byte, error) {
	return f.ReadRange(ctx, path, 0, -1)
}

// ReadRange gives at most `length` bytes from `offset` on; all of them if the length is negative.
func (f *Files) ReadRange(ctx context.Context, path string, offset, length int64) ([]byte, error) {
	content, err := f.Open(ctx, path, offset, length)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}

// ReadText gives a whole file as text.
func (f *Files) ReadText(ctx context.Context, path string) (string, error) {
	content, err := f.Read(ctx, path)
	return string(content), err
}

// Write replaces a file at once, or not at all; it makes its directories. A mode of 0 stands for 0644.
func (f *Files) Write(ctx context.Context, path string, content io.Reader, mode uint32) error {
	query := pathQuery(path)
	if mode != 0 {
		query.Set("mode", fmt.Sprintf("0%o", mode))
	}
	header := map[string]string{"Content-Type": "application/octet-stream"}
	return f.sandbox.json(ctx, "writeFile", call{query: query, body: content, header: header, timeout: noTimeout}, nil)
}

// WriteText replaces a file.
func (f *Files) WriteText(ctx context.Context, path, content string) error {
	return f.Write(ctx, path, strings.NewReader(content), 0)
}

// List gives what is in a directory, or in all below it.
func (f *Files) List(ctx context.Context, path string, isRecursive bool) ([]DirectoryEntry, error) {
	query := pathQuery(path)
	query.Set("recursive", fmt.Sprint(isRecursive))
	var found Directory
	if err := f.sandbox.json(ctx, "listDirectory", call{query: query}, &found); err != nil {
		return nil, err
	}
	if found.Truncated {
		return nil, failure("too_large", "%s has more than %d entries; list its directories", path, len(found.Entries))
	}
	return found.Entries, nil
}

// MakeDirectory makes a directory.
func (f *Files) MakeDirectory(ctx context.Context, path string) error {
	return f.sandbox.json(ctx, "makeDirectory", call{query: pathQuery(path)}, nil)
}

// Remove removes a file, an empty directory, or one with all that is below.
func (f *Files) Remove(ctx context.Context, path string, isRecursive bool) error {
	query := pathQuery(path)
	query.Set("recursive", fmt.Sprint(isRecursive))
	return f.sandbox.json(ctx, "removeFile", call{query: query}, nil)
}

// Stat gives kind, size, mode and time of one entry; a link counts by itself.
func (f *Files) Stat(ctx context.Context, name string) (*DirectoryEntry, error) {
	whole := path.Clean(absolute(name))
	if whole == "/" || whole == "." {
		return nil, failure("invalid_argument", "%q has no entry of its own", name)
	}
	var found Directory
	if err := f.sandbox.json(ctx, "listDirectory", call{query: pathQuery(path.Dir(whole))}, &found); err != nil {
		return nil, err
	}
	for i := range found.Entries {
		if found.Entries[i].Path == path.Base(whole) {
			return &found.Entries[i], nil
		}
	}
	if found.Truncated {
		return nil, failure("too_large", "%s has more entries than one answer holds", path.Dir(whole))
	}
	return nil, failure("not_found", "%s: no such file or directory", name)
}

// Exists tells whether there is such an entry.
func (f *Files) Exists(ctx context.Context, name string) (bool, error) {
	_, err := f.Stat(ctx, name)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Upload copies a file or a directory of this machine in, as `nutshell cp` does. It gives notes on what was left out.
func (f *Files) Upload(ctx context.Context, source, path string) (notes string, err error) {
	local, err := filepath.Abs(source)
	if err != nil {
		return "", &Error{Code: "invalid_argument", Message: err.Error(), Err: err}
	}
	return f.copy(ctx, local, f.sandbox.ID+":"+absolute(path))
}

// Download copies a file or a directory out. What a tool of this machine would run or trust by itself is left out and
// named in the notes, unless it is named itself.
func (f *Files) Download(ctx context.Context, path, target string) (notes string, err error) {
	local, err := filepath.Abs(target)
	if err != nil {
		return "", &Error{Code: "invalid_argument", Message: err.Error(), Err: err}
	}
	return f.copy(ctx, f.sandbox.ID+":"+absolute(path), local)
}

func (f *Files) copy(ctx context.Context, words ...string) (string, error) {
	_, notes, err := f.sandbox.nutshell(ctx, append([]string{"cp"}, words...)...)
	var failed *programFailure
	if errors.As(err, &failed) {
		return notes, failed.typed()
	}
	return notes, err
}

// FileEvent is a change below a watched directory. Kind is added, modified or removed.
type FileEvent struct {
	Kind  string
	Entry DirectoryEntry
}

// Watch gives changes below a directory as they come, until the context ends. The API has no notifications, so the
// directory is listed again and again; an interval of 0 stands for 250 ms.
func (f *Files) Watch(ctx context.Context, path string, isRecursive bool, interval time.Duration) iter.Seq2[FileEvent, error] {
	if interval <= 0 {
		interval = defaultWatchInterval
	}
	return func(yield func(FileEvent, error) bool) {
		before, err := f.look(ctx, path, isRecursive)
		for err == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(interval):
			}
			var now map[string]DirectoryEntry
			if now, err = f.look(ctx, path, isRecursive); err != nil {
				break
			}
			for _, event := range differences(before, now) {
				if !yield(event, nil) {
					return
				}
			}
			before = now
		}
		if ctx.Err() == nil {
			yield(FileEvent{}, err)
		}
	}
}

func (f *Files) look(ctx context.Context, path string, isRecursive bool) (map[string]DirectoryEntry, error) {
	entries, err := f.List(ctx, path, isRecursive)
	found := map[string]DirectoryEntry{}
	for _, entry := range entries {
		found[entry.Path] = entry
	}
	return found, err
}

func differences(before, now map[string]DirectoryEntry) []FileEvent {
	var events []FileEvent
	for name, entry := range now {
		old, is := before[name]
		if !is {
			events = append(events, FileEvent{"added", entry})
		} else if plain(old) != plain(entry) {
			events = append(events, FileEvent{"modified", entry})
		}
	}
	for name, entry := range before {
		if _, is := now[name]; !is {
			events = append(events, FileEvent{"removed", entry})
		}
	}
	return events
}

// plain leaves out a directory's size and time, which change with its entries.
func plain(entry DirectoryEntry) DirectoryEntry {
	if entry.Kind == "directory" {
		entry.Size, entry.ModifiedNS = 0, 0
	}
	return entry
}

// programFailure is a program that did not exit with 0.
type programFailure struct {
	status int
	text   string
}

func (p *programFailure) Error() string { return p.text }

// typed makes an error of what the program told.
func (p *programFailure) typed() error {
	kinds := []struct {
		code  ErrorCode
		words []string
	}{{"permission_denied", []string{"held back", "ermission denied", "refused"}}, {"already_exists", []string{"conflict", "exists"}},
		{"not_found", []string{"o such", "not found", "does not exist"}}}
	for _, kind := range kinds {
		for _, word := range kind.words {
			if strings.Contains(p.text, word) {
				return failure(kind.code, "%s", p.text)
			}
		}
	}
	return failure("internal", "%s", p.text)
}

// nutshell runs the program for this sandbox, with the daemon of its client.
func (s *Sandbox) nutshell(ctx context.Context, words ...string) (output, notes string, err error) {
	defer runtime.KeepAlive(s)
	if err := s.check(); err != nil {
		return "", "", err
	}
	program, err := findProgram("nutshell")
	if err != nil {
		return "", "", err
	}
	made, err := s.client.connect(ctx)
	if err != nil {
		return "", "", failureOf(ctx, words[0], err)
	}
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, program, words...)
	command.Stdout, command.Stderr, command.Env = &stdout, &stderr, made.target.environment()
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = endTimeout
	err = command.Run()
	output, notes = stdout.String(), strings.TrimSpace(stderr.String())
	var exit *exec.ExitError
	if err == nil || ctx.Err() != nil || !errors.As(err, &exit) {
		if err != nil {
			err = failureOf(ctx, "nutshell "+words[0], err)
		}
		return output, notes, err
	}
	text := strings.TrimPrefix(notes, "nutshell: ")
	if text == "" {
		text = fmt.Sprintf("nutshell %s exited with %d", words[0], exit.ExitCode())
	}
	return output, notes, &programFailure{exit.ExitCode(), text}
}
