package nutshell_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"nutshell"
)

func hostileNames(f *fixture, _ []string) {
	s := f.create()
	defer s.Close()
	for _, id := range []string{".", "..", "../tools", "%2e%2e", "a/b", "x?y=1", "x#y", "\n", "é", strings.Repeat("x", 5000)} {
		_, err := nutshell.Connect(f.ctx, nil, id)
		f.fails(err, "not_found", "invalid_argument", "unsupported", "internal", "too_large")
	}
	_, err := nutshell.Connect(f.ctx, nil, "")
	f.fails(err, "invalid_argument")
	for _, path := range []string{"a b", "q?x=1&y=2", "100%", "#x", "ü", "-n", "a+b", "new\nline"} {
		f.must(s.Files.WriteText(f.ctx, path, path))
		found, err := s.Files.ReadText(f.ctx, path)
		f.must(err)
		f.equal(found, path)
		entry, err := s.Files.Stat(f.ctx, path)
		f.must(err)
		f.equal(entry.Path, path)
	}
	_, err = s.Run(f.ctx, nutshell.Command{}, nil)
	f.fails(err, "invalid_argument")
	_, err = nutshell.NewPool(nil, "p").Acquire(f.ctx, &nutshell.AcquireOptions{Sandbox: &nutshell.Options{Image: "x"}})
	f.fails(err, "invalid_argument")
	_, err = s.Tools.Call(f.ctx, "read", "[1")
	f.fails(err, "invalid_argument")
	_, err = s.Tools.Call(f.ctx, "no-such", nil)
	f.fails(err, "invalid_argument")
}

func copiesAndChanges(f *fixture, _ []string) {
	here := f.TempDir()
	project, out := filepath.Join(here, "project"), filepath.Join(here, "out")
	f.must(os.MkdirAll(filepath.Join(project, "sub"), 0o755))
	f.must(os.WriteFile(filepath.Join(project, "sub/a.txt"), []byte("old\n"), 0o644))
	f.must(os.Symlink("sub/a.txt", filepath.Join(project, "link")))
	s, err := nutshell.Create(f.ctx, &nutshell.Options{Workspace: project})
	f.must(err)
	defer s.Close()
	f.must(s.Files.WriteText(f.ctx, "sub/a.txt", "new\n"))
	f.must(s.Files.WriteText(f.ctx, ".envrc", "echo trap\n"))
	changes, err := s.Changes(f.ctx)
	f.must(err)
	f.equal(changes[slices.IndexFunc(changes, func(one nutshell.Change) bool { return one.Path == ".envrc" })].HeldBy, "trusted")
	diff, err := s.Diff(f.ctx, &nutshell.DiffOptions{Paths: []string{"sub"}})
	if err != nil || !strings.Contains(diff, "-old\n+new") {
		f.Fatal(diff, err)
	}
	report, err := s.Apply(f.ctx, &nutshell.ApplyOptions{DryRun: true})
	f.must(err)
	f.equal(report.Applied[0].Path, "sub/a.txt")
	report, err = s.Apply(f.ctx, nil)
	f.must(err)
	f.equal(report.Held[0].Path, ".envrc")
	content, err := os.ReadFile(filepath.Join(project, "sub/a.txt"))
	f.must(err)
	f.equal(string(content), "new\n")
	f.must(s.Files.WriteText(f.ctx, "sub/a.txt", "newer\n"))
	f.must(os.WriteFile(filepath.Join(project, "sub/a.txt"), []byte("mine\n"), 0o644))
	_, err = s.Apply(f.ctx, nil)
	f.fails(err, "already_exists")
	_, err = s.Files.Upload(f.ctx, project, "/tmp/copy")
	f.must(err)
	f.equal(f.stdout(s, "readlink /tmp/copy/link; cat /tmp/copy/sub/a.txt"), "sub/a.txt\nmine\n")
	f.stdout(s, "mkdir -p d && echo 1 > d/x && echo trap > d/.envrc")
	notes, err := s.Files.Download(f.ctx, "d", out)
	if err != nil || !strings.Contains(notes, ".envrc") {
		f.Fatal(notes, err)
	}
	entries, err := os.ReadDir(out)
	f.must(err)
	f.equal(len(entries), 1)
	_, err = s.Files.Download(f.ctx, "none", out)
	f.fails(err, "not_found")
}

func watched(f *fixture, _ []string) {
	s := f.create()
	defer s.Close()
	ctx, cancel := context.WithCancel(f.ctx)
	var mutex sync.Mutex
	seen, done := []string{}, make(chan error)
	go func() {
		for event, err := range s.Files.Watch(ctx, "/workspace", true, 50*time.Millisecond) {
			if err != nil {
				done <- err
				return
			}
			mutex.Lock()
			seen = append(seen, event.Kind+" "+event.Entry.Path)
			mutex.Unlock()
		}
		done <- nil
	}()
	f.until(func() bool { // until something was seen, it may not have begun
		f.stdout(s, "echo x >> begun")
		mutex.Lock()
		defer mutex.Unlock()
		return len(seen) > 0
	}, "nothing was seen")
	for _, one := range [][2]string{{"mkdir d; echo 1 > d/f", "added d/f"}, {"echo 22 > d/f", "modified d/f"}, {"rm d/f", "removed d/f"}} {
		f.stdout(s, one[0])
		f.until(func() bool {
			mutex.Lock()
			defer mutex.Unlock()
			return slices.Contains(seen, one[1])
		}, one[1]+" was not seen")
	}
	cancel()
	f.must(<-done)
}

func largeAndBinary(f *fixture, _ []string) {
	s := f.create()
	defer s.Close()
	data := make([]byte, 20<<20)
	for i := 0; i < len(data); i += 977 {
		data[i] = byte(i)
	}
	sum := sha256.Sum256(data)
	done, err := s.Run(f.ctx, nutshell.Shell("sha256sum | cut -c1-64"), &nutshell.RunOptions{Stdin: data, Timeout: time.Minute})
	f.must(err)
	f.equal(strings.TrimSpace(done.Stdout), hex.EncodeToString(sum[:]))
	f.must(s.Files.Write(f.ctx, "big", bytes.NewReader(data), 0))
	back, err := s.Files.Read(f.ctx, "big")
	f.must(err)
	f.equal(bytes.Equal(back, data), true)
	done, err = s.Run(f.ctx, nutshell.Argv("cat", "/workspace/big"), &nutshell.RunOptions{Timeout: time.Minute})
	f.must(err)
	f.equal(done.Stdout == string(data), true)
	f.must(s.Files.Write(f.ctx, "streamed", io.MultiReader(bytes.NewReader(data[:1000]), bytes.NewReader(data[:3000])), 0))
	entry, err := s.Files.Stat(f.ctx, "streamed")
	f.must(err)
	f.equal(entry.Size, int64(4000))
	broken := io.MultiReader(bytes.NewReader(data[:1000]), failingReader{})
	if err := s.Files.Write(f.ctx, "broken", broken, 0); err == nil {
		f.Fatal("a broken reader was no error")
	}
	exists, err := s.Files.Exists(f.ctx, "broken")
	f.must(err)
	f.equal(exists, false)
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("mine") }
