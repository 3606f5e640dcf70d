package admin

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"mockserver/dispatcher"
	"mockserver/internal/address"
	"mockserver/listener"
	"mockserver/listener/observe/verdict"
)

// shownDelivery is a pending webhook.
type shownDelivery struct {
	dispatcher.Pending
	DueIn float64 `json:"due_in_ms" doc:"time until the next attempt; below 0 if it is late"`
}

// The default and the maximum number of pending webhooks to show.
const (
	deliveriesShown = 100
	mostDeliveries  = 10_000
)

// shownDeliveries contains the pending webhooks, the earliest first, and the outcomes of all
// webhooks.
type shownDeliveries struct {
	dispatcher.Stats
	Lag      verdict.Spread       `json:"lag" doc:"how late first attempts were"`
	Webhooks []shownDelivery      `json:"webhooks,omitempty" doc:"the pending webhooks, the next one first; only in /__admin/webhooks"`
	GivenUp  []dispatcher.GivenUp `json:"given_up,omitempty" doc:"webhooks that were given up, by webhook and target, the latest first; only in /__admin/webhooks"`
}

func (a *Admin) deliveries(most int) shownDeliveries {
	s := shownDeliveries{Stats: a.server.Webhooks()}
	s.Lag = verdict.SpreadOf(s.Stats.Lag)
	if most == 0 {
		return s
	}
	s.GivenUp = a.server.GivenUpWebhooks()
	for i := range s.GivenUp {
		s.GivenUp[i].URL = address.WithoutUser(s.GivenUp[i].URL)
	}
	list, pending := a.server.PendingWebhooks(most)
	s.Pending = int64(pending)
	now := time.Now()
	for _, p := range list {
		p.URL, p.Due = address.WithoutUser(p.URL), p.Due.UTC()
		s.Webhooks = append(s.Webhooks, shownDelivery{p, verdict.Milliseconds(p.Due.Sub(now))})
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
	respond(w, http.StatusOK, a.deliveries(most))
}

// order returns the handler that fires or cancels a pending webhook.
func (a *Admin) order(do func(s *listener.Server, id string) error, done string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		switch err := do(a.server, id); {
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
			respond(w, http.StatusOK, state{id, done})
		}
	}
}
