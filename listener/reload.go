package listener

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/config/watch"
)

// Reloader has a server serve what configuration files say, and what they say from then on.
//
//	files := listener.NewReloader(config.Loader{}, "mocks.yml")
//	server, err := listener.Start(files.Load(), listener.Options{})
//	files.Attach(server)
//	go files.Run(ctx, 200*time.Millisecond)
//
// Its methods may be called at the same time, once Attach has returned.
type Reloader struct {
	// Served is called after each reload that is served; nil is not. It is set before Attach.
	Served func()

	loader  config.Loader
	paths   []string // files and directories
	watcher *watch.Watcher
	server  *Server
	wanted  chan string // the cause of a reload that is to come

	mu     sync.Mutex // guards beside
	beside []string   // files, see related

	reloading sync.Mutex // one reload at a time
}

// NewReloader looks at the files, and the files in directories, for the first time: their
// changes count from now on.
func NewReloader(loader config.Loader, paths ...string) *Reloader {
	// A reload that waits reads what is there when it begins: another is not needed.
	r := &Reloader{loader: loader, paths: paths, wanted: make(chan string, 1)}
	r.watcher = watch.New(r.watched)
	return r
}

// Load reads the files, as config.Loader does.
func (r *Reloader) Load() *config.Spec { return r.loader.Load(r.paths...) }

// Attach names the server, which was started with what Load returned last. It is called once.
func (r *Reloader) Attach(server *Server) {
	r.server = server
	if r.watch(server.Spec().Referenced()) && r.watcher.Look() {
		_ = r.Reload("a file changed") // it is logged
	}
}

// watched is the files whose change reloads.
func (r *Reloader) watched() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.paths, r.beside)
}

// watch has files watched beside the configuration, and reports whether there is any that
// was not.
func (r *Reloader) watch(files []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	more := slices.ContainsFunc(files, func(f string) bool { return !slices.Contains(r.beside, f) })
	r.beside = files
	return more
}

// Run looks at the files every interval and reloads after a change, and when Ask wants
// it, until ctx ends. A change has to be seen twice to be taken for complete.
func (r *Reloader) Run(ctx context.Context, interval time.Duration) {
	go r.watcher.Run(ctx, interval, func() { r.Ask("a file changed") })
	for {
		select {
		case cause := <-r.wanted:
			_ = r.Reload(cause) // it is logged
		case <-ctx.Done():
			return
		}
	}
}

// Ask has Run reload soon, and does not wait for it. The cause is for the log.
func (r *Reloader) Ask(cause string) {
	select {
	case r.wanted <- cause:
	default:
	}
}

// Reload serves what the files say now. When they are wrong, all their errors are logged
// and the last good configuration goes on serving. The error, a config.Problems or
// ErrStopped, is for who asked: nothing is left to do about it. The cause is for the log.
func (r *Reloader) Reload(cause string) error {
	r.reloading.Lock()
	defer r.reloading.Unlock()
	begun := time.Now()
	spec, err := r.apply()
	if r.watch(r.related(spec, err)) {
		// One of them may have changed since it was read, but before it is watched.
		spec, err = r.apply()
		r.watch(r.related(spec, err))
	}
	log := r.server.log
	var problems syntax.Problems
	if errors.As(err, &problems) {
		for _, line := range problems.Lines() {
			log.Error("configuration not reloaded", "error", line)
		}
		log.Warn("the last good configuration goes on serving", "cause", cause)
		return err
	}
	if err != nil {
		return err // the server is stopping
	}
	log.Info("configuration reloaded", "cause", cause, Declared(spec), "took", time.Since(begun))
	if r.Served != nil {
		r.Served()
	}
	return nil
}

// apply serves what the files say, unless it is wrong. Changes count from before they
// are read.
func (r *Reloader) apply() (*config.Spec, error) {
	r.watcher.Refresh()
	spec := r.Load()
	return spec, r.server.Apply(spec)
}

// related are the files beside the configuration whose change changes what is served:
// those that documents refer to, and what may fix a refused configuration.
func (r *Reloader) related(spec *config.Spec, err error) []string {
	files := spec.Referenced()
	if err != nil {
		files = append(files, externalFiles(spec, r.server.opts)...)
	}
	return files
}

// Declared is how much a spec declares, as the log has it: endpoints=12 websockets=1.
func Declared(spec *config.Spec) slog.Attr {
	all := []any{"endpoints", len(spec.Endpoints)}
	if n := len(spec.WebSockets); n > 0 {
		all = append(all, "websockets", n)
	}
	return slog.Group("", all...)
}
