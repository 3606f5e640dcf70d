package admin

import "net/http"

// ready reports whether the server accepts requests.
func (a *Admin) ready(w http.ResponseWriter, _ *http.Request) {
	if why := a.unready(); why != "" {
		refuse(w, http.StatusServiceUnavailable, "not_ready", "Not ready", why)
		return
	}
	respond(w, http.StatusOK, state{Status: "ready"})
}

// unready returns why the server does not accept requests; "" if it does.
func (a *Admin) unready() string {
	if !a.attached.Load() {
		return "the configuration is still being read"
	}
	select {
	case <-a.server.Done():
		return "the server has stopped"
	default:
	}
	if a.server.Control().Stopping() {
		return "the server is stopping: it finishes the requests in progress"
	}
	if a.fleet != nil && !a.requested.Load() {
		return "the other replicas are being asked whether their configuration was changed"
	}
	return ""
}

// started wraps a handler: requests are refused before a server is attached.
func (a *Admin) started(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !a.attached.Load() {
			refuse(w, http.StatusServiceUnavailable, "starting", "Starting", "the configuration is still being read")
			return
		}
		next(w, r)
	}
}
