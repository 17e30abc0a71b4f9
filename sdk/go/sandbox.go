package nutshell

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	endTimeout = 30 * time.Second
	restTime   = time.Second // for the answer to a cancelled call, which may be on its way
)

// Options of a sandbox. Zero values stand for the defaults.
type Options struct {
	// Backend isolates it: native, docker, podman or gvisor. Default: native.
	Backend string
	// Image is its root file system: an image's name, a directory or a tar. Default: this machine's /usr.
	Image   string
	Runtime string
	// Memory and Disk are sizes like "512m" or "1g".
	Memory, Disk string
	CPUs         float64
	Processes    int64
	OpenFiles    int64
	CPUTime      time.Duration
	// Environment has variables of every command in it.
	Environment      map[string]string
	WorkingDirectory string
	// Workspace is the directory that /workspace begins as; it stays untouched until Apply.
	Workspace string
	// WorkspaceMode is auto, overlay or copy.
	WorkspaceMode string
	// Mounts are directories and small files of the host that it can read, at any path.
	Mounts []Mount
	// Toolchains: auto shows the tools that this user has installed outside /usr, without their settings and keys.
	Toolchains string
	// UnsafeMounts are directories of the host, mounted directly: what is written there stays.
	UnsafeMounts []UnsafeMount
	// Network is what it may reach. Default: nothing.
	Network *NetworkPolicy
	// KeepCaches: yes keeps caches of package managers and compilers for later sandboxes with the same workspace.
	KeepCaches string
	Labels     map[string]string
	// TTL is how long it lives. Default: 5 minutes.
	TTL time.Duration
	// IdleTimeout ends it when nothing ran in it for this long. Default: never.
	IdleTimeout time.Duration
	// Require are protections it must have.
	Require, UnsafeWithout []string
	// Spec has members of the API that this struct does not have.
	Spec *SandboxSpec

	// Timeout is the time of each command that names none.
	Timeout time.Duration
	// Client is used instead of the default client.
	Client *Client
}

var sizeForm = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$`)

func bytesOf(size, name string) (int64, error) {
	found := sizeForm.FindStringSubmatch(strings.ToLower(strings.TrimSpace(size)))
	if found == nil {
		return 0, failure("invalid_argument", `%s must be a size like "512m", not %q`, name, size)
	}
	number, err := strconv.ParseFloat(found[1], 64)
	bytes := number * math.Pow(1024, float64(strings.Index("kmgt", found[2])+1))
	if found[2] == "" {
		bytes = number
	}
	if err != nil || bytes > 1<<53 {
		return 0, failure("invalid_argument", "%s is too large: %q", name, size)
	}
	return int64(bytes), nil
}

// spec is the API's SandboxSpec of these options.
func (o *Options) spec() (*SandboxSpec, error) {
	spec := &SandboxSpec{}
	if o == nil {
		return spec, nil
	}
	if o.Spec != nil {
		*spec = *o.Spec
	}
	set(&spec.Backend, o.Backend)
	set(&spec.Image, o.Image)
	set(&spec.Runtime, o.Runtime)
	set(&spec.WorkingDirectory, o.WorkingDirectory)
	set(&spec.WorkspaceMode, o.WorkspaceMode)
	set(&spec.TTLMS, o.TTL.Milliseconds())
	set(&spec.IdleTimeoutMS, o.IdleTimeout.Milliseconds())
	set(&spec.Toolchains, o.Toolchains)
	set(&spec.KeepCaches, o.KeepCaches)
	setMap(&spec.Environment, o.Environment)
	setMap(&spec.Labels, o.Labels)
	setList(&spec.Mounts, o.Mounts)
	setList(&spec.UnsafeMounts, o.UnsafeMounts)
	setList(&spec.Require, o.Require)
	setList(&spec.UnsafeWithout, o.UnsafeWithout)
	if o.Network != nil {
		spec.Network = o.Network
	}
	place, err := workspaceOf(o.Workspace)
	if err != nil {
		return nil, err
	}
	set(&spec.Workspace, place)
	limits, err := o.limits(spec.Limits)
	spec.Limits = limits
	return spec, err
}

// workspaceOf makes a directory of this machine absolute.
func workspaceOf(place string) (string, error) {
	if place == "" || strings.HasPrefix(place, "volume:") {
		return place, nil
	}
	absolute, err := filepath.Abs(place)
	if err != nil {
		return "", &Error{Code: "invalid_argument", Message: "the workspace: " + err.Error(), Err: err}
	}
	return absolute, nil
}

func (o *Options) limits(given *Limits) (*Limits, error) {
	limits := Limits{}
	if given != nil {
		limits = *given
	}
	for _, size := range []struct {
		name, text string
		bytes      *int64
	}{{"memory", o.Memory, &limits.MemoryBytes}, {"disk", o.Disk, &limits.DiskBytes}} {
		if size.text == "" {
			continue
		}
		bytes, err := bytesOf(size.text, size.name)
		if err != nil {
			return nil, err
		}
		*size.bytes = bytes
	}
	set(&limits.CPUs, o.CPUs)
	set(&limits.Processes, o.Processes)
	set(&limits.OpenFiles, o.OpenFiles)
	set(&limits.CPUTimeMS, o.CPUTime.Milliseconds())
	if limits == (Limits{}) {
		return nil, nil
	}
	return &limits, nil
}

func set[T comparable](place *T, value T) {
	var zero T
	if value != zero {
		*place = value
	}
}

func setMap(place *map[string]string, value map[string]string) {
	if value != nil {
		*place = value
	}
}

func setList[T any](place *[]T, value []T) {
	if value != nil {
		*place = value
	}
}

// Sandbox is an isolated place where commands run. Goroutines may share it.
type Sandbox struct {
	ID string
	// Files, Tools: what is in it, and what models call.
	Files *Files
	Tools *Tools

	client   *Client
	info     atomic.Pointer[SandboxInfo]
	timeout  time.Duration
	endsBy   string // operation that ends it at Close; none for one that was found
	isClosed atomic.Bool
	cleanup  runtime.Cleanup
}

type left struct {
	client        *Client
	id, operation string
}

func (l left) end() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	_ = l.client.json(ctx, l.operation, call{}.in(l.id), nil)
}

// take asks for a sandbox. If ctx ends before the answer is here, what the daemon has made nevertheless ends.
func take(ctx context.Context, client *Client, operation, endsBy string, request call) (*SandboxInfo, error) {
	type outcome struct {
		info *SandboxInfo
		err  error
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	answered := make(chan outcome, 1)
	go func() {
		info, err := get[SandboxInfo](inner, client, operation, request)
		answered <- outcome{info, err}
	}()
	select {
	case one := <-answered:
		cancel()
		return one.info, one.err
	case <-ctx.Done():
	}
	go func() {
		defer cancel()
		defer time.AfterFunc(restTime, cancel).Stop()
		if one := <-answered; one.err == nil {
			left{client, one.info.ID, endsBy}.end()
		}
	}()
	return nil, failureOf(ctx, operation, context.Cause(ctx))
}

func newSandbox(client *Client, info *SandboxInfo, timeout time.Duration, endsBy string) *Sandbox {
	s := &Sandbox{ID: info.ID, client: client, timeout: timeout, endsBy: endsBy}
	s.info.Store(info)
	s.Files, s.Tools = &Files{s}, &Tools{s}
	if endsBy != "" {
		// Ends a sandbox that was collected without Close. Nobody is there to be told of a failure.
		s.cleanup = runtime.AddCleanup(s, func(one left) { go one.end() }, left{client, info.ID, endsBy})
	}
	return s
}

// Create makes a sandbox. Close ends it.
func Create(ctx context.Context, options *Options) (*Sandbox, error) {
	if options == nil {
		options = &Options{}
	}
	spec, err := options.spec()
	if err != nil {
		return nil, err
	}
	client := orDefault(options.Client)
	info, err := take(ctx, client, "createSandbox", "destroySandbox", call{json: spec, timeout: client.createTimeout})
	if err != nil {
		return nil, err
	}
	return newSandbox(client, info, options.Timeout, "destroySandbox"), nil
}

// Connect finds a sandbox by its id. Close lets go of it; Destroy ends it. The client may be nil.
func Connect(ctx context.Context, client *Client, id string) (*Sandbox, error) {
	if id == "" {
		return nil, failure("invalid_argument", "the id of the sandbox is empty")
	}
	client = orDefault(client)
	info, err := get[SandboxInfo](ctx, client, "getSandbox", call{}.in(id))
	if err != nil {
		return nil, err
	}
	return newSandbox(client, info, 0, ""), nil
}

func labelQuery(labels map[string]string) url.Values {
	query := url.Values{}
	for name, value := range labels {
		query.Add("label", name+"="+value)
	}
	return query
}

// List gives the caller's sandboxes that have all these labels. The client may be nil.
func List(ctx context.Context, client *Client, labels map[string]string) ([]SandboxInfo, error) {
	return pages[SandboxInfo](ctx, orDefault(client), "listSandboxes", "sandboxes", labelQuery(labels), 0)
}

func (s *Sandbox) check() error {
	if s.isClosed.Load() {
		return failure(CodeClosed, "the sandbox %s was closed", s.ID)
	}
	return nil
}

func (s *Sandbox) json(ctx context.Context, operation string, request call, into any) error {
	defer runtime.KeepAlive(s) // a sandbox that is collected ends
	if err := s.check(); err != nil {
		return err
	}
	return s.client.json(ctx, operation, request.in(s.ID), into)
}

// Info is as it was when this object was made, or at the last Refresh.
func (s *Sandbox) Info() *SandboxInfo { return s.info.Load() }

func (s *Sandbox) change(ctx context.Context, operation string, body any) (*SandboxInfo, error) {
	var info SandboxInfo
	if err := s.json(ctx, operation, call{json: body}, &info); err != nil {
		return nil, err
	}
	s.info.Store(&info)
	return &info, nil
}

// Refresh asks the daemon for its state.
func (s *Sandbox) Refresh(ctx context.Context) (*SandboxInfo, error) {
	return s.change(ctx, "getSandbox", nil)
}

// Pause stops its processes and its ttl.
func (s *Sandbox) Pause(ctx context.Context) (*SandboxInfo, error) {
	return s.change(ctx, "pauseSandbox", nil)
}

// Resume lets them go on.
func (s *Sandbox) Resume(ctx context.Context) (*SandboxInfo, error) {
	return s.change(ctx, "resumeSandbox", nil)
}

// Extend begins its ttl again, with this length.
func (s *Sandbox) Extend(ctx context.Context, ttl time.Duration) (*SandboxInfo, error) {
	return s.change(ctx, "extendSandbox", Extend{TTLMS: ttl.Milliseconds()})
}

// Undo takes back a change by its id (u12), or the last one if that is empty.
func (s *Sandbox) Undo(ctx context.Context, id string) (*ToolResult, error) {
	arguments := map[string]string{}
	if id != "" {
		arguments["id"] = id
	}
	result, err := s.Tools.Call(ctx, "undo", arguments)
	if err != nil {
		return nil, err
	}
	return result, result.Check()
}

// Changes are what differs from how the workspace began. HeldBy marks what Apply would leave out.
func (s *Sandbox) Changes(ctx context.Context) ([]Change, error) {
	var found Changes
	err := s.json(ctx, "listChanges", call{}, &found)
	return found.Changes, err
}

// DiffOptions of a diff.
type DiffOptions struct {
	// Paths: only at or below these.
	Paths []string
	// Stat is one line for each file; Patch is for git apply.
	Stat, Patch bool
}

// Diff gives the changes as a unified diff, as `nutshell diff` prints it.
func (s *Sandbox) Diff(ctx context.Context, options *DiffOptions) (string, error) {
	words := []string{"diff", s.ID}
	if options != nil {
		words = append(words, flags("--path", options.Paths)...)
		words = append(words, flag("--stat", options.Stat)...)
		words = append(words, flag("--patch", options.Patch)...)
	}
	output, notes, err := s.nutshell(ctx, words...)
	var failed *programFailure
	if errors.As(err, &failed) && failed.status == 1 && (output != "" || notes == "") {
		err = nil // as diff tells that there are differences
	}
	return output, err
}

// ApplyOptions of Apply.
type ApplyOptions struct {
	// Paths: only at or below these; a path that is held back is taken if it is named.
	Paths, Exclude []string
	DryRun         bool
	// Force overwrites files that changed here since the sandbox was made.
	Force bool
	// UnsafeGit also takes files that can make git run a program.
	UnsafeGit bool
}

// AppliedChange is a file that was written, or that would be.
type AppliedChange struct {
	Path   string `json:"path"`
	Change string `json:"change"`
}

// HeldChange is a file that was left out, because a tool here would run or trust it by itself.
type HeldChange struct {
	AppliedChange
	HeldBy   string `json:"held_by"`
	HeldTool string `json:"held_tool"`
	HeldWhy  string `json:"held_why"`
	TakeWith string `json:"take_with"`
}

// ApplyReport tells what was written and what was not.
type ApplyReport struct {
	DryRun    bool            `json:"dry_run"`
	Applied   []AppliedChange `json:"applied"`
	Held      []HeldChange    `json:"held"`
	Skipped   []string        `json:"skipped"`
	Conflicts []string        `json:"conflicts"`
}

// Apply writes the changes back to the directory of the workspace, as `nutshell apply` does, with the same refusals.
func (s *Sandbox) Apply(ctx context.Context, options *ApplyOptions) (*ApplyReport, error) {
	words := []string{"apply", s.ID, "--json"}
	if options != nil {
		words = append(words, flags("--path", options.Paths)...)
		words = append(words, flags("--exclude", options.Exclude)...)
		words = append(words, flag("--dry-run", options.DryRun)...)
		words = append(words, flag("--force", options.Force)...)
		words = append(words, flag("--unsafe-git", options.UnsafeGit)...)
	}
	output, _, err := s.nutshell(ctx, words...)
	var failed *programFailure
	if err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	report := &ApplyReport{}
	if output != "" {
		if parse := json.Unmarshal([]byte(output), report); parse != nil {
			return nil, &Error{Code: "corrupt", Message: "nutshell apply printed no report", Err: parse}
		}
	}
	switch {
	case err == nil:
		return report, nil
	case len(report.Conflicts) > 0:
		return report, failure("already_exists", "%s", failed.text)
	case len(report.Held) > 0:
		return report, failure("permission_denied", "%s", failed.text)
	}
	return nil, failed.typed()
}

func flag(name string, isGiven bool) []string {
	if isGiven {
		return []string{name}
	}
	return nil
}

func flags(name string, values []string) []string {
	var words []string
	for _, value := range values {
		words = append(words, name+"="+value)
	}
	return words
}

// Checkpoint keeps the files as they are, and gives the checkpoint's name. Running processes are refused, or killed.
func (s *Sandbox) Checkpoint(ctx context.Context, kill bool) (string, error) {
	var made Checkpoint
	err := s.json(ctx, "createCheckpoint", call{json: Checkpoint{Kill: kill}}, &made)
	return made.Checkpoint, err
}

// Rollback goes back to a checkpoint, or to how the workspace began if its name is empty.
func (s *Sandbox) Rollback(ctx context.Context, checkpoint string, kill bool) error {
	return s.json(ctx, "rollback", call{json: Checkpoint{Checkpoint: checkpoint, Kill: kill}}, nil)
}

// Fork makes another sandbox with the same files.
func (s *Sandbox) Fork(ctx context.Context) (*Sandbox, error) {
	defer runtime.KeepAlive(s) // a sandbox that is collected ends
	if err := s.check(); err != nil {
		return nil, err
	}
	info, err := take(ctx, s.client, "forkSandbox", "destroySandbox", call{timeout: s.client.createTimeout}.in(s.ID))
	if err != nil {
		return nil, err
	}
	return newSandbox(s.client, info, s.timeout, "destroySandbox"), nil
}

// Stats are what it holds now and has used.
func (s *Sandbox) Stats(ctx context.Context) (*SandboxStats, error) {
	var found SandboxStats
	err := s.json(ctx, "getStats", call{}, &found)
	return &found, err
}

// NetworkStatus is what it may reach now, and what it used of that.
func (s *Sandbox) NetworkStatus(ctx context.Context) (*NetworkStatus, error) {
	var found NetworkStatus
	err := s.json(ctx, "getNetwork", call{}, &found)
	return &found, err
}

// SetNetwork replaces what it may reach. Connections that are not allowed then end. A sandbox that was made
// without a network gets none.
func (s *Sandbox) SetNetwork(ctx context.Context, policy *NetworkPolicy) (*NetworkStatus, error) {
	var found NetworkStatus
	err := s.json(ctx, "setNetwork", call{json: policy}, &found)
	return &found, err
}

// NetworkEvents are connections and look-ups that were tried, oldest first: those with a greater number.
func (s *Sandbox) NetworkEvents(ctx context.Context, after int64) ([]NetworkEvent, error) {
	var found NetworkEvents
	err := s.json(ctx, "listNetworkEvents", call{query: url.Values{"after": {strconv.FormatInt(after, 10)}}}, &found)
	return found.Events, err
}

// History is what was done in it, oldest first.
func (s *Sandbox) History(ctx context.Context) ([]HistoryEntry, error) {
	var found History
	err := s.json(ctx, "getHistory", call{}, &found)
	return found.Entries, err
}

// Environment are the variables it was started with. It may hold secrets.
func (s *Sandbox) Environment(ctx context.Context) ([]string, error) {
	var found Environment
	err := s.json(ctx, "getEnvironment", call{}, &found)
	return found.Environment, err
}

// WhyGone tells why it no longer answers.
func (s *Sandbox) WhyGone(ctx context.Context) (*Gone, error) {
	var found Gone
	err := s.json(ctx, "whyGone", call{}, &found)
	return &found, err
}

// Detach lets the sandbox live on after Close, up to its ttl.
func (s *Sandbox) Detach() {
	s.cleanup.Stop()
	s.endsBy = ""
}

// Destroy ends the sandbox, also one that Connect found.
func (s *Sandbox) Destroy(ctx context.Context) error {
	if s.isClosed.Swap(true) {
		return nil
	}
	s.cleanup.Stop()
	operation := s.endsBy
	if operation == "" {
		operation = "destroySandbox"
	}
	err := s.client.json(ctx, operation, call{}.in(s.ID), nil)
	runtime.KeepAlive(s)
	if errors.Is(err, ErrNotFound) {
		return nil // it has ended already
	}
	return err
}

// Close ends a sandbox that this object made; it lets go of one that it found. A second Close does nothing.
func (s *Sandbox) Close() error {
	if s.endsBy == "" {
		s.isClosed.Store(true)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	return s.Destroy(ctx)
}
