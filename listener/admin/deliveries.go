package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"mockserver/dispatcher"
)

// shownDelivery is a webhook that is pending.
type shownDelivery struct {
	ID       string    `json:"id"`
	Webhook  string    `json:"webhook"`
	Method   string    `json:"method"`
	URL      string    `json:"url"`
	Due      time.Time `json:"due"`
	DueIn    float64   `json:"due_in_ms"` // below 0 when it is late
	Attempt  int       `json:"attempt"`
	InFlight bool      `json:"in_flight"`
	// LastError says why the last attempt failed; it is left out before the first failure.
	LastError string `json:"last_error,omitempty"`
}

// Bounds of how many webhooks are shown.
const (
	deliveriesShown = 100
	mostDeliveries  = 10_000
)

// shownDeliveries are what is pending, the earliest first, and what became of all.
type shownDeliveries struct {
	Pending   int             `json:"pending"`
	Due       int64           `json:"due"`
	InFlight  int64           `json:"in_flight"`
	Delivered int64           `json:"delivered"`
	Retried   int64           `json:"retried"`
	Dead      int64           `json:"dead"`
	Cancelled int64           `json:"cancelled"`
	Refused   int64           `json:"refused"`
	Lag       Spread          `json:"lag"` // milliseconds
	Webhooks  []shownDelivery `json:"webhooks,omitempty"`
}

func (a *Admin) deliveries(most int) shownDeliveries {
	stats := a.server.Webhooks()
	s := shownDeliveries{
		Pending: int(stats.Pending), Due: stats.Due, InFlight: stats.InFlight, Delivered: stats.Delivered, Retried: stats.Retried,
		Dead: stats.Dead, Cancelled: stats.Cancelled, Refused: stats.Refused,
		Lag: spreadOf(stats.Lag.Count, stats.Lag.Max, &stats.Lag),
	}
	if most == 0 {
		return s
	}
	var list []dispatcher.Pending
	list, s.Pending = a.server.PendingWebhooks(most)
	now := time.Now()
	for _, p := range list {
		s.Webhooks = append(s.Webhooks, shownDelivery{p.ID, p.Webhook, p.Method, withoutUser(p.URL), p.Due.UTC(), inMilliseconds(p.Due.Sub(now)), p.Attempt, p.InFlight, p.LastError})
	}
	return s
}

// withoutUser leaves the password out of a URL.
func withoutUser(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}

// listWebhooks answers with the webhooks that are pending.
func (a *Admin) listWebhooks(w http.ResponseWriter, r *http.Request) {
	most := deliveriesShown
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > mostDeliveries {
			badQuery(w, fmt.Sprintf("limit: %q is not accepted; a number from 0 to %d is", text, mostDeliveries))
			return
		}
		most = n
	}
	answer(w, http.StatusOK, a.deliveries(most))
}

// fireWebhook has a pending webhook sent now.
func (a *Admin) fireWebhook(w http.ResponseWriter, r *http.Request) {
	a.order(w, r, a.server.FireWebhook, "fired")
}

// cancelWebhook takes a pending webhook back.
func (a *Admin) cancelWebhook(w http.ResponseWriter, r *http.Request) {
	a.order(w, r, a.server.CancelWebhook, "cancelled")
}

// order does something to a pending webhook.
func (a *Admin) order(w http.ResponseWriter, r *http.Request, do func(id string) error, done string) {
	id := r.PathValue("id")
	switch err := do(id); {
	case errors.Is(err, dispatcher.ErrUnknown):
		refuse(w, http.StatusNotFound, "webhook_not_found", "No such webhook", fmt.Sprintf("no webhook with the id %q is pending; GET /__admin/webhooks lists them", id))
	case errors.Is(err, dispatcher.ErrInFlight):
		refuse(w, http.StatusConflict, "webhook_in_flight", "Webhook in flight", "the webhook is being sent")
	case errors.Is(err, dispatcher.ErrClosed):
		refuse(w, http.StatusServiceUnavailable, "stopping", "Stopping", "the server is stopping")
	case err != nil:
		refuse(w, http.StatusInternalServerError, "internal", "Internal error", err.Error())
	default:
		a.log.Info("webhook "+done+" by the admin address", "id", id)
		answer(w, http.StatusOK, map[string]string{"id": id, "status": done})
	}
}
