package compile

import (
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/listener/compile/webhook"
	"mockserver/matcher"
	"mockserver/renderer"
)

// responseHooks compiles the webhooks of an answer, which may refer to it. streamed means that it is always a stream.
func (c *Compiler) responseHooks(all []item.Webhook, name string, streamed bool, scope *renderer.Scope) ([]webhook.Hook, syntax.Problems) {
	within := *scope
	within.Response, within.Streamed = true, streamed
	return c.hooks(all, name, &within)
}

// moved compiles the webhooks of rows that change by themselves.
func (c *Compiler) moved(all []item.Webhook, name string, scope *renderer.Scope) (func(*matcher.Request, time.Time), syntax.Problems) {
	hooks, problems := c.hooks(all, name, scope)
	for i := range hooks {
		if all[i].Delay == 0 { // they are sent when the row changes, unless a delay is declared
			hooks[i].Delay = 0
		}
	}
	return func(r *matcher.Request, at time.Time) { c.Send(hooks, r, at) }, problems
}

// hooks compiles webhooks. If Options.NoWebhooks is set, it only checks them, so that no request
// triggers them.
func (c *Compiler) hooks(all []item.Webhook, name string, scope *renderer.Scope) ([]webhook.Hook, syntax.Problems) {
	hooks, problems := webhook.Compile(all, name, scope)
	if c.NoWebhooks {
		return nil, problems
	}
	return hooks, problems
}
