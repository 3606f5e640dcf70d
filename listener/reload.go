package listener

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"mockserver/config"
	"mockserver/config/watch"
	"mockserver/fetcher"
)

// Reloader makes a server serve its configuration files, and serve them again when they change.
//
//	files := listener.NewReloader(config.Loader{}, "mocks.yml")
//	server, err := listener.Start(files.Load(), listener.Options{})
//	files.Attach(server)
//	go files.Run(ctx, 200*time.Millisecond)
//
// Once Attach has returned, the methods may be called concurrently.
type Reloader struct {
	// Served is called after each successful reload; nil for no call. It must be set before Attach.
	Served func()

	loader  config.Loader
	paths   []string // files and directories
	watcher *watch.Watcher
	server  *Server
	wanted  chan string // the cause of a reload that is due

	mu    sync.Mutex // guards added
	added []string   // additional files to watch; see related

	reloading sync.Mutex // held during a reload
}

// NewReloader returns a Reloader for files and for the files in directories. Changes made after
// this call are noticed.
func NewReloader(loader config.Loader, paths ...string) *Reloader {
	// A pending reload reads the files when it starts, so a second one is not needed.
	r := &Reloader{loader: loader, paths: paths, wanted: make(chan string, 1)}
	r.watcher = watch.New(r.watched)
	return r
}

// Load reads the files, as config.Loader does.
func (r *Reloader) Load() *config.Spec { return r.loader.Load(r.paths...) }

// Attach sets the server, which was started with the latest result of Load. If the configuration
// refers to other files, Attach looks for changes at once, and reloads if there are any. Attach is
// called once.
func (r *Reloader) Attach(server *Server) {
	r.server = server
	if r.watch(server.Spec().Referenced()) && r.watcher.Look() {
		_ = r.Reload("a file changed") // the error is logged
	}
}

// watched returns the files whose changes cause a reload.
func (r *Reloader) watched() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.paths, r.added)
}

// watch sets the files to watch in addition to the configuration. It reports whether any of them is
// new.
func (r *Reloader) watch(files []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	more := slices.ContainsFunc(files, func(f string) bool { return !slices.Contains(r.added, f) })
	r.added = files
	return more
}

// Run checks the files at every interval until ctx ends. It reloads after a change and when Ask was
// called. A change counts once two checks in a row have seen the same state.
func (r *Reloader) Run(ctx context.Context, interval time.Duration) {
	go r.watcher.Run(ctx, interval, func() { r.Ask("a file changed") })
	for {
		select {
		case cause := <-r.wanted:
			_ = r.Reload(cause) // the error is logged
		case <-ctx.Done():
			return
		}
	}
}

// Ask makes Run reload soon and returns immediately. The cause is for the log.
func (r *Reloader) Ask(cause string) {
	select {
	case r.wanted <- cause:
	default:
	}
}

// Reload reads the files and serves the result. If they are invalid, all errors are logged, and the
// last good configuration stays in service. The error, that of Server.Apply, is for the caller's
// information only. The cause is for the log.
func (r *Reloader) Reload(cause string) error {
	r.reloading.Lock()
	defer r.reloading.Unlock()
	begun := time.Now()
	spec, err := r.apply()
	if r.watch(r.related(spec, err)) {
		// One of the files may have changed after it was read and before it was watched.
		spec, err = r.apply()
		r.watch(r.related(spec, err))
	}
	log := r.server.log
	if err != nil && !errors.Is(err, ErrStopped) {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			log.Error("configuration not reloaded", "error", line)
		}
		log.Warn("the last good configuration stays in service", "cause", cause)
	}
	if err != nil {
		return err
	}
	log.Info("configuration reloaded", "cause", cause, spec.Declared(), "took", time.Since(begun))
	if r.Served != nil {
		r.Served()
	}
	return nil
}

// apply serves the files, unless they are invalid. A change made while the files are read counts as
// a new change.
func (r *Reloader) apply() (*config.Spec, error) {
	r.watcher.Refresh()
	spec := r.Load()
	return spec, r.server.Apply(spec)
}

// related returns the files besides the configuration whose changes matter: those that documents
// refer to, and those that may repair a refused configuration.
func (r *Reloader) related(spec *config.Spec, err error) []string {
	files := spec.Referenced()
	if err != nil {
		files = append(files, fetcher.Files(spec, r.server.opts.Env)...)
	}
	return files
}
