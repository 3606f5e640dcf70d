package importing

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"mockserver/config/imports"
	"mockserver/config/imports/draft"
)

// Files makes configurations, in a temporary directory, from files of other tools that the server
// is given. Its methods may be called from any goroutine.
type Files struct {
	Log       *slog.Logger // gets a line for each import; must be set before the first one
	Templated bool         // every response of WireMock is a template; must be set before the first import

	mu    sync.Mutex
	dir   string // "" until it is needed
	made  int
	fresh map[string][]string // the directories made for each file, the newest last

	logged map[string]bool // items that are not exact, which are logged once
}

// maxLogged is how many items that are not exact are logged.
const maxLogged = 20

// Import makes a configuration from a file or directory and returns the name of the configuration's
// file; "" if the format cannot be imported. The last three configurations made from each path are
// kept until Close.
func (i *Files) Import(path string) (string, error) {
	if !imports.Recognizes(path) {
		return "", nil
	}
	d, err := imports.Make([]string{path}, draft.Options{Templated: i.Templated})
	if err != nil {
		return "", err
	}
	defer d.Close()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.dir == "" {
		if i.dir, err = os.MkdirTemp("", "mockserver-import-"); err != nil {
			return "", err
		}
	}
	i.made++
	dir := filepath.Join(i.dir, strconv.Itoa(i.made))
	if err := imports.Write(d, dir, false); err != nil {
		return "", err
	}
	if i.fresh == nil {
		i.fresh, i.logged = map[string][]string{}, map[string]bool{}
	}
	const kept = 3 // the current one, its replacement, and one from a failed reload
	i.fresh[path] = append(i.fresh[path], dir)
	if all := i.fresh[path]; len(all) > kept {
		os.RemoveAll(all[0])
		i.fresh[path] = all[1:]
	}
	for _, item := range d.Items {
		if text := path + item.Name + item.Why; item.Kind != draft.Exact && !i.logged[text] && len(i.logged) < maxLogged {
			i.logged[text] = true
			i.Log.Warn("imported differently", "file", item.Pos.String(), "item", item.Name, "kind", item.Kind.String(), "reason", item.Why)
		}
	}
	i.Log.Info("imported", "file", path, "exact", d.Count(draft.Exact), "approximate", d.Count(draft.Approximate), "lost", d.Count(draft.Lost))
	return filepath.Join(dir, imports.Name), nil
}

// Close removes the temporary directory.
func (i *Files) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.dir != "" {
		os.RemoveAll(i.dir)
	}
}
