package nutshell

import (
	"context"
	"errors"
	"sync"
	"time"
)

// SessionOptions of a session. Zero values stand for the defaults.
type SessionOptions struct {
	// Sandbox has the options of its sandboxes.
	Sandbox *Options
	// Setup commands are run once in each of its sandboxes, before anything else.
	Setup  []Command
	Budget *Budget
	// Lease is the time after which the session ends when nobody uses it.
	Lease time.Duration
	// PauseAfter is the time after which its sandbox is paused when nobody uses it; the next use resumes it.
	PauseAfter time.Duration
	Labels     map[string]string
	// KeepsWorkspace keeps the files of /workspace for its next sandbox.
	KeepsWorkspace bool
}

// Session is a sandbox with a name, which is made at its first use and replaced when it is lost.
type Session struct {
	Name    string
	client  *Client
	request SessionRequest
	timeout time.Duration

	mutex    sync.Mutex
	info     *SessionInfo
	sandbox  *Sandbox
	isClosed bool
}

// OpenSession finds the session, or makes it.
func OpenSession(ctx context.Context, name string, options *SessionOptions) (*Session, error) {
	if options == nil {
		options = &SessionOptions{}
	}
	sandbox := options.Sandbox
	if sandbox == nil {
		sandbox = &Options{}
	}
	spec, err := sandbox.spec()
	if err != nil {
		return nil, err
	}
	request := SessionRequest{Name: name, Spec: spec, Budget: options.Budget, LeaseMS: options.Lease.Milliseconds(),
		PauseAfterMS: options.PauseAfter.Milliseconds(), Labels: options.Labels, KeepsWorkspace: options.KeepsWorkspace}
	for _, command := range options.Setup {
		request.Setup = append(request.Setup, command.argv)
	}
	s := &Session{Name: name, client: orDefault(sandbox.Client), request: request, timeout: sandbox.Timeout}
	return s, s.ensure(ctx)
}

// ListSessions gives the caller's sessions that have all these labels. The client may be nil.
func ListSessions(ctx context.Context, client *Client, labels map[string]string) ([]SessionInfo, error) {
	return pages[SessionInfo](ctx, orDefault(client), "listSessions", "sessions", labelQuery(labels), 0)
}

func (s *Session) ensure(ctx context.Context) error {
	info, err := get[SessionInfo](ctx, s.client, "ensureSession", call{json: s.request, timeout: s.client.createTimeout})
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.info = info
	if s.sandbox == nil || s.sandbox.ID != info.SandboxID {
		s.sandbox = newSandbox(s.client, &SandboxInfo{ID: info.SandboxID}, s.timeout, "")
	}
	return nil
}

// Info is as it was when the session was opened, renewed or refreshed.
func (s *Session) Info() *SessionInfo {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.info
}

// Sandbox is its present sandbox, whose Close does not end it.
func (s *Session) Sandbox() (*Sandbox, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.isClosed {
		return nil, failure(CodeClosed, "the session %s was closed", s.Name)
	}
	return s.sandbox, nil
}

// Use does something in its sandbox. If the sandbox was lost, a new one is made, and it is done there.
func (s *Session) Use(ctx context.Context, action func(*Sandbox) error) error {
	sandbox, err := s.Sandbox()
	if err != nil {
		return err
	}
	err = action(sandbox)
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if renewed := s.ensure(ctx); renewed != nil {
		return renewed
	}
	fresh, closed := s.Sandbox()
	if closed != nil || fresh.ID == sandbox.ID {
		return err
	}
	return action(fresh)
}

// Run runs a command in its sandbox.
func (s *Session) Run(ctx context.Context, command Command, options *RunOptions) (result *ExecResult, err error) {
	err = s.Use(ctx, func(sandbox *Sandbox) error {
		result, err = sandbox.Run(ctx, command, options)
		return err
	})
	return result, err
}

func (s *Session) change(ctx context.Context, operation string, request call) (*SessionInfo, error) {
	request.path = map[string]string{"name": s.Name}
	info, err := get[SessionInfo](ctx, s.client, operation, request)
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.info = info
	return info, nil
}

// Refresh asks for its state. It makes no sandbox.
func (s *Session) Refresh(ctx context.Context) (*SessionInfo, error) {
	return s.change(ctx, "getSession", call{})
}

// Renew begins its lease again, with this length.
func (s *Session) Renew(ctx context.Context, lease time.Duration) (*SessionInfo, error) {
	return s.change(ctx, "renewSession", call{json: Lease{LeaseMS: lease.Milliseconds()}})
}

// End ends it, and its sandbox.
func (s *Session) End(ctx context.Context) error {
	err := s.client.json(ctx, "endSession", call{path: map[string]string{"name": s.Name}}, nil)
	if err == nil {
		return s.Close()
	}
	return err
}

// Forget removes the files that sessions of this name left behind.
func (s *Session) Forget(ctx context.Context) error {
	return s.client.json(ctx, "forgetWorkspace", call{path: map[string]string{"name": s.Name}}, nil)
}

// Close lets go of it; the session goes on.
func (s *Session) Close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.isClosed = true
	return nil
}
