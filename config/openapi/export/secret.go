package export

import (
	"mockserver/config/openapi/tree"
	"mockserver/internal/address"
	"mockserver/internal/secret"
)

// hideSecrets removes the secrets from the declaration of an endpoint: signature keys, webhook
// headers with secrets, and user information in URLs. Data that is sent to clients stays, because
// they receive it anyway.
func hideSecrets(n *tree.Node) {
	for _, item := range n.List() {
		hideSecrets(item)
	}
	for key, value := range n.Members() {
		switch key {
		case "body", "headers", "query": // their keys can have any name
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

// hideUser removes the user information from the URL in a member of a map.
func hideUser(n *tree.Node, key string) {
	if text := n.Get(key).AsText(); text != "" {
		n.Set(key, tree.NewText(address.WithoutUsers(text)))
	}
}
