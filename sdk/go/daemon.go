package nutshell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTime    = 60 * time.Second
	mostLogBytes = 4096
)

// target is a daemon, with what is needed to be let in.
type target struct {
	socket        string // with none, url counts
	url           *url.URL
	token         string
	ca, cert, key string // PEM files
	isPrivate     bool
}

func (t *target) address() string {
	if t.socket != "" {
		return t.socket
	}
	port := t.url.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[t.url.Scheme]
	}
	return t.url.Scheme + "://" + net.JoinHostPort(t.url.Hostname(), port)
}

// environment makes the program `nutshell` use this daemon.
func (t *target) environment() []string {
	ours := map[string]string{"NUTSHELL_DAEMON": t.address(), "NUTSHELL_TOKEN": t.token, "NUTSHELL_TOKEN_FILE": "",
		"NUTSHELL_DAEMON_CA": t.ca, "NUTSHELL_DAEMON_CERT": t.cert, "NUTSHELL_DAEMON_KEY": t.key}
	found := withoutVariables(func(name string) bool { _, is := ours[name]; return is })
	for name, value := range ours {
		if value != "" {
			found = append(found, name+"="+value)
		}
	}
	return found
}

func withoutVariables(drop func(name string) bool) []string {
	var kept []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !drop(name) {
			kept = append(kept, variable)
		}
	}
	return kept
}

// findProgram looks in $NUTSHELL_BIN, beside this program, and in $PATH.
func findProgram(name string) (string, error) {
	named := os.Getenv("NUTSHELL_BIN")
	if named != "" {
		if info, err := os.Stat(named); err == nil && !info.IsDir() {
			named = filepath.Dir(named)
		}
		if path, err := exec.LookPath(filepath.Join(named, name)); err == nil {
			return path, nil
		}
		return "", failure("unavailable", "the program %s is not in NUTSHELL_BIN (%s)", name, named)
	}
	if own, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), name)); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", failure("unavailable", "the program %s is neither beside this program nor in PATH. "+
		"Install Nutshell, or name a daemon with NUTSHELL_DAEMON", name)
}

func tokenOf(given string) (string, error) {
	token := given
	if token == "" {
		token = os.Getenv("NUTSHELL_TOKEN")
	}
	if path := os.Getenv("NUTSHELL_TOKEN_FILE"); token == "" && path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", &Error{Code: "invalid_argument", Message: "NUTSHELL_TOKEN_FILE cannot be read: " + err.Error(), Err: err}
		}
		token = string(text)
	}
	token = strings.TrimRight(token, "\r\n")
	if strings.ContainsFunc(token, func(letter rune) bool { return letter < '!' || letter > '~' }) {
		return "", failure("invalid_argument", "the token has more than one word or line, or is not ASCII")
	}
	return token, nil
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || (address != nil && address.IsLoopback())
}

func orVariable(given, name string) string {
	if given != "" {
		return given
	}
	return os.Getenv(name)
}

func namedTarget(address string, options *ClientOptions) (*target, error) {
	token, err := tokenOf(options.Token)
	if err != nil {
		return nil, err
	}
	address = strings.TrimPrefix(address, "unix://")
	if !strings.Contains(address, "://") {
		return &target{socket: address, token: token}, nil
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return nil, failure("invalid_argument", "the daemon's address %q is no URL", address)
	}
	if parsed.Scheme != "https" && (parsed.Scheme != "http" || !isLoopback(parsed.Hostname())) {
		return nil, failure("invalid_argument", "the daemon's address must be a Unix socket or https://HOST:PORT, not %s://%s; "+
			"http:// is only for addresses of this machine", parsed.Scheme, parsed.Host)
	}
	return &target{url: parsed, token: token, ca: orVariable(options.CA, "NUTSHELL_DAEMON_CA"),
		cert: orVariable(options.Cert, "NUTSHELL_DAEMON_CERT"), key: orVariable(options.Key, "NUTSHELL_DAEMON_KEY")}, nil
}

// runtimeDirectory is the directory of the user's own daemon, as the programs choose it.
func runtimeDirectory() string {
	if chosen := os.Getenv("NUTSHELL_RUNTIME_DIR"); filepath.IsAbs(chosen) {
		return chosen
	}
	user := os.Geteuid()
	if user == 0 {
		return "/run/nutshell"
	}
	if session := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(session) && ownerOf(session) == user {
		return filepath.Join(session, "nutshell")
	}
	return fmt.Sprintf("/tmp/nutshell-%d", user)
}

func ownerOf(path string) int {
	var status syscall.Stat_t
	if syscall.Lstat(path, &status) != nil {
		return -1
	}
	return int(status.Uid)
}

func answers(ctx context.Context, socket string) bool {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	_ = connection.Close() // only tried
	return true
}

// ownTarget is the user's own daemon, if one runs. A directory that others can write to is refused.
func ownTarget(ctx context.Context) (*target, error) {
	directory := runtimeDirectory()
	info, err := os.Lstat(directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !info.IsDir() || ownerOf(directory) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return nil, failure("permission_denied", "%s is not a directory that only you can use: remove it, or name another "+
			"with NUTSHELL_RUNTIME_DIR", directory)
	}
	socket := filepath.Join(directory, "nutshelld.sock")
	if !answers(ctx, socket) {
		return nil, nil
	}
	return &target{socket: socket}, nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mutex sync.Mutex
	text  []byte
}

func (t *tail) Write(bytes []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.text = append(t.text, bytes...)
	t.text = t.text[max(0, len(t.text)-mostLogBytes):]
	return len(bytes), nil
}

func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return strings.TrimSpace(string(t.text))
}

var private struct {
	mutex  sync.Mutex
	target *target
}

// privateTarget gives the private daemon of this process. A dead one is replaced.
func privateTarget(ctx context.Context) (*target, error) {
	private.mutex.Lock()
	defer private.mutex.Unlock()
	if private.target != nil && answers(ctx, private.target.socket) {
		return private.target, nil
	}
	if ctx.Err() != nil {
		return nil, failureOf(ctx, "start", ctx.Err())
	}
	program, err := findProgram("nutshelld")
	if err != nil {
		return nil, err
	}
	socket, err := startPrivate(program)
	if err != nil {
		return nil, err
	}
	private.target = &target{socket: socket, isPrivate: true}
	return private.target, nil
}

func startPrivate(program string) (string, error) {
	log := &tail{}
	command := exec.Command(program, "--private")
	// A session of its own: Ctrl-C at the terminal reaches this process first, whose end ends the daemon.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Stderr = log
	command.Env = withoutVariables(func(name string) bool {
		return name == "NUTSHELL_DAEMON" || name == "NUTSHELL_TOKEN" || name == "NUTSHELL_TOKEN_FILE"
	})
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return "", &Error{Code: "unavailable", Message: program + " cannot be started: " + err.Error(), Err: err}
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(io.LimitReader(output, 4096)).ReadString('\n') // an unfinished line is none
		line <- text
		_ = command.Wait() // its end is seen by the next connection
	}()
	select {
	case text := <-line:
		if strings.HasSuffix(text, "\n") {
			return strings.TrimSuffix(text, "\n"), nil
		}
	case <-time.After(startTime):
	}
	_ = command.Process.Kill() // it may have ended by itself
	return "", failure("unavailable", "%s --private did not start: %s", program, log)
}

func chooseTarget(ctx context.Context, options *ClientOptions) (*target, error) {
	address := orVariable(options.Daemon, "NUTSHELL_DAEMON")
	isPrivate := address == "none" || address == "private"
	if address != "" && !isPrivate {
		return namedTarget(address, options)
	}
	if !isPrivate {
		if own, err := ownTarget(ctx); own != nil || err != nil {
			return own, err
		}
	}
	return privateTarget(ctx)
}
