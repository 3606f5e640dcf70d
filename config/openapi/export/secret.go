package export

import (
	"mockserver/config/openapi/tree"
	"mockserver/internal/address"
	"mockserver/internal/secret"
)

// hideSecrets takes the secrets out of what was declared of an endpoint: keys of
// signatures, headers of webhooks that hold secrets, and users of URLs. What clients are
// sent stays: they are sent it.
func hideSecrets(n *tree.Node) {
	for _, item := range n.List() {
		hideSecrets(item)
	}
	for key, value := range n.Members() {
		switch key {
		case "body", "headers", "query": // these have keys of any name
		case "webhook":
			hideWebhook(value)
		case "webhooks":
			for _, w := range value.List() {
				hideWebhook(w)
			}
		case "external-body":
			hideUser(value, "path")
		default:
			hideSecrets(value)
		}
	}
}

func hideWebhook(w *tree.Node) {
	hideUser(w, "url")
	if sign := w.Get("sign"); sign.Get("secret") != nil {
		sign.Set("secret", tree.NewText(secret.Shown))
	}
	headers := w.Get("headers")
	for name := range headers.Members() {
		if secret.IsHeader(name) {
			headers.Set(name, tree.NewText(secret.Shown))
		}
	}
}

// hideUser takes the user out of the URL that is the member of a map.
func hideUser(n *tree.Node, key string) {
	if text := n.Get(key).AsText(); text != "" {
		n.Set(key, tree.NewText(address.WithoutUsers(text)))
	}
}
