package nutshell

import (
	"context"
	"time"
)

const defaultWait = 10 * time.Second

// Pool is sandboxes that the daemon keeps ready.
type Pool struct {
	Name   string
	client *Client
}

// NewPool names a pool. The client may be nil.
func NewPool(client *Client, name string) *Pool { return &Pool{name, orDefault(client)} }

// ListPools gives the pools and how full they are. The client may be nil.
func ListPools(ctx context.Context, client *Client) ([]PoolInfo, error) {
	found, err := get[Pools](ctx, orDefault(client), "listPools", call{})
	if err != nil {
		return nil, err
	}
	return found.Pools, nil
}

func (p *Pool) call(request call) call {
	request.path = map[string]string{"pool": p.Name}
	return request
}

// AcquireOptions of a sandbox from a pool.
type AcquireOptions struct {
	// Sandbox may name labels, times, environment, workspace and limits.
	Sandbox *Options
	// Wait is how long to wait while all of the pool is taken; negative: not at all. Default: 10 s.
	Wait time.Duration
}

// Acquire takes a sandbox; its Close gives it back, and a fresh one takes its place.
func (p *Pool) Acquire(ctx context.Context, options *AcquireOptions) (*Sandbox, error) {
	if options == nil {
		options = &AcquireOptions{}
	}
	given := options.Sandbox
	if given == nil {
		given = &Options{}
	}
	spec, err := given.spec()
	if err != nil {
		return nil, err
	}
	if spec.Backend != "" || spec.Image != "" || spec.Runtime != "" || spec.WorkingDirectory != "" || spec.WorkspaceMode != "" ||
		spec.UnsafeMounts != nil || spec.Mounts != nil || spec.Network != nil || spec.KeepCaches != "" || spec.Toolchains != "" || spec.Require != nil || spec.UnsafeWithout != nil {
		return nil, failure("invalid_argument", "a sandbox of a pool takes only labels, times, environment, workspace and limits")
	}
	wait := options.Wait
	if wait == 0 {
		wait = defaultWait
	}
	request := struct {
		Acquire
		WaitMS int64 `json:"wait_ms"`
	}{Acquire{Labels: spec.Labels, TTLMS: spec.TTLMS, IdleTimeoutMS: spec.IdleTimeoutMS, Environment: spec.Environment,
		Workspace: spec.Workspace, Limits: spec.Limits}, max(0, wait.Milliseconds())}
	info, err := take(ctx, p.client, "acquire", "release", p.call(call{json: request, timeout: max(0, wait) + p.client.createTimeout}))
	if err != nil {
		return nil, err
	}
	return newSandbox(p.client, info, given.Timeout, "release"), nil
}

// Refresh tells how full it is.
func (p *Pool) Refresh(ctx context.Context) (*PoolInfo, error) {
	return get[PoolInfo](ctx, p.client, "getPool", p.call(call{}))
}

// Warm waits until its sandboxes are ready.
func (p *Pool) Warm(ctx context.Context) (*PoolInfo, error) {
	return get[PoolInfo](ctx, p.client, "warmPool", p.call(call{timeout: p.client.createTimeout}))
}

// Drain ends what waits in it, and gives their number.
func (p *Pool) Drain(ctx context.Context) (int64, error) {
	found, err := get[Drained](ctx, p.client, "drainPool", p.call(call{}))
	if err != nil {
		return 0, err
	}
	return found.Ended, nil
}
