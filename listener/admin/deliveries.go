package admin

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"mockserver/dispatcher"
	"mockserver/internal/address"
	"mockserver/listener/verdict"
)

// shownDelivery is a pending webhook.
type shownDelivery struct {
	ID        string    `json:"id" doc:"names the delivery as long as it is pending; another after each attempt"`
	Webhook   string    `json:"webhook" doc:"the endpoint that declares it, with its number there"`
	Method    string    `json:"method" doc:"of the request that is sent"`
	URL       string    `json:"url" doc:"where it is sent, without a password"`
	Due       time.Time `json:"due" doc:"when it is sent"`
	DueIn     float64   `json:"due_in_ms" doc:"how long until then; below 0 when it is late"`
	Attempt   int       `json:"attempt" doc:"number of the attempt that was made last, 0 before the first"`
	InFlight  bool      `json:"in_flight" doc:"it is being sent"`
	LastError string    `json:"last_error,omitempty" doc:"why the last attempt failed"`
}

// How many pending webhooks are shown, by default and at most.
const (
	deliveriesShown = 100
	mostDeliveries  = 10_000
)

// shownDeliveries contains the pending webhooks, the earliest first, and the outcomes of all
// webhooks.
type shownDeliveries struct {
	Pending   int             `json:"pending" doc:"webhooks that wait or are being sent"`
	Due       int64           `json:"due" doc:"of those, that could be sent and wait for a worker"`
	InFlight  int64           `json:"in_flight" doc:"of those, that are being sent"`
	Delivered int64           `json:"delivered" doc:"webhooks that were delivered"`
	Retried   int64           `json:"retried" doc:"attempts after the first"`
	Dead      int64           `json:"dead" doc:"webhooks that were given up after their last attempt"`
	Cancelled int64           `json:"cancelled" doc:"webhooks that were cancelled"`
	Refused   int64           `json:"refused" doc:"webhooks that were not accepted, as too many were pending"`
	Lost      int64           `json:"lost,omitempty" doc:"records of the webhook store, at least, that could not be read"`
	Restored  int64           `json:"restored,omitempty" doc:"webhooks that came from the store: of this process before, or of another one"`
	Unstored  int64           `json:"unstored,omitempty" doc:"webhooks that were accepted although the store refused them"`
	Lag       verdict.Spread  `json:"lag" doc:"how late first attempts were"`
	Webhooks  []shownDelivery `json:"webhooks,omitempty" doc:"those that are pending, the next one first; /__admin/webhooks alone has them"`
}

func (a *Admin) deliveries(most int) shownDeliveries {
	stats := a.server.Webhooks()
	s := shownDeliveries{
		Pending: int(stats.Pending), Due: stats.Due, InFlight: stats.InFlight, Delivered: stats.Delivered, Retried: stats.Retried,
		Dead: stats.Dead, Cancelled: stats.Cancelled, Refused: stats.Refused, Lost: stats.Lost, Restored: stats.Restored, Unstored: stats.Unstored,
		Lag: verdict.SpreadOf(stats.Lag),
	}
	if most == 0 {
		return s
	}
	var list []dispatcher.Pending
	list, s.Pending = a.server.PendingWebhooks(most)
	now := time.Now()
	for _, p := range list {
		s.Webhooks = append(s.Webhooks, shownDelivery{p.ID, p.Webhook, p.Method, address.WithoutUser(p.URL), p.Due.UTC(), verdict.Milliseconds(p.Due.Sub(now)), p.Attempt, p.InFlight, p.LastError})
	}
	return s
}

// listWebhooks returns the pending webhooks.
func (a *Admin) listWebhooks(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	most := q.number("limit", deliveriesShown, 0, mostDeliveries)
	if q.refused(w) {
		return
	}
	answer(w, http.StatusOK, a.deliveries(most))
}

// fireWebhook sends a pending webhook now.
func (a *Admin) fireWebhook(w http.ResponseWriter, r *http.Request) {
	a.order(w, r, a.server.FireWebhook, "fired")
}

// cancelWebhook cancels a pending webhook.
func (a *Admin) cancelWebhook(w http.ResponseWriter, r *http.Request) {
	a.order(w, r, a.server.CancelWebhook, "cancelled")
}

// order fires or cancels a pending webhook.
func (a *Admin) order(w http.ResponseWriter, r *http.Request, do func(id string) error, done string) {
	id := r.PathValue("id")
	switch err := do(id); {
	case errors.Is(err, dispatcher.ErrUnknown):
		refuse(w, http.StatusNotFound, "webhook_not_found", "No such webhook", fmt.Sprintf("webhook %q is not pending; GET /__admin/webhooks lists them", id))
	case errors.Is(err, dispatcher.ErrInFlight):
		refuse(w, http.StatusConflict, "webhook_in_flight", "Webhook in flight", "the webhook is being sent")
	case errors.Is(err, dispatcher.ErrClosed):
		refuse(w, http.StatusServiceUnavailable, "stopping", "Stopping", "the server is stopping")
	case err != nil:
		refuse(w, http.StatusInternalServerError, "internal", "Internal error", err.Error())
	default:
		a.log.Info("webhook "+done+" by the admin address", "id", id)
		answer(w, http.StatusOK, state{id, done})
	}
}
