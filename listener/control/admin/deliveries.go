package admin

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"mockserver/dispatcher"
	"mockserver/internal/address"
	"mockserver/listener/observe/verdict"
)

// shownDelivery is a pending webhook.
type shownDelivery struct {
	ID        string    `json:"id" doc:"ID of the delivery while it is pending; it changes after each attempt"`
	Webhook   string    `json:"webhook" doc:"the endpoint that declares the webhook, with the webhook's number there"`
	Method    string    `json:"method" doc:"method of the request that is sent"`
	URL       string    `json:"url" doc:"URL of the request, without a password"`
	Due       time.Time `json:"due" doc:"when the next attempt is due"`
	DueIn     float64   `json:"due_in_ms" doc:"time until the next attempt; below 0 if it is late"`
	Attempt   int       `json:"attempt" doc:"number of the last attempt; 0 before the first"`
	InFlight  bool      `json:"in_flight" doc:"whether it is being sent"`
	LastError string    `json:"last_error,omitempty" doc:"why the last attempt failed"`
}

// The default and the maximum number of pending webhooks to show.
const (
	deliveriesShown = 100
	mostDeliveries  = 10_000
)

// shownDeliveries contains the pending webhooks, the earliest first, and the outcomes of all
// webhooks.
type shownDeliveries struct {
	Pending   int             `json:"pending" doc:"webhooks that are waiting or being sent"`
	Due       int64           `json:"due" doc:"pending webhooks that are due and wait for a worker"`
	InFlight  int64           `json:"in_flight" doc:"pending webhooks that are being sent"`
	Delivered int64           `json:"delivered" doc:"webhooks that were delivered"`
	Retried   int64           `json:"retried" doc:"attempts after the first"`
	Dead      int64           `json:"dead" doc:"webhooks that were given up after their last attempt"`
	Cancelled int64           `json:"cancelled" doc:"webhooks that were cancelled"`
	Refused   int64           `json:"refused" doc:"webhooks that were not accepted because too many were pending"`
	Lost      int64           `json:"lost,omitempty" doc:"minimum number of records of the webhook store that could not be read"`
	Restored  int64           `json:"restored,omitempty" doc:"webhooks that were read from the store, left there by this server before a restart or by another one"`
	Unstored  int64           `json:"unstored,omitempty" doc:"webhooks that were accepted although the store refused them"`
	Lag       verdict.Spread  `json:"lag" doc:"how late first attempts were"`
	Webhooks  []shownDelivery `json:"webhooks,omitempty" doc:"the pending webhooks, the next one first; only in /__admin/webhooks"`
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
