package dispatcher

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"mockserver/dispatcher/outbox"
	"mockserver/internal/clienttls"
)

// maxNumbers is the maximum size, in bytes, of the numbers in an encoded webhook without signature
// and TLS files, including the lengths of texts.
const maxNumbers = 9 * binary.MaxVarintLen64

// appendWebhook appends all data of a webhook, so that its deliveries can be sent even if the
// configuration no longer contains it.
func appendWebhook(to []byte, w *Webhook) []byte {
	to = slices.Grow(to, maxNumbers+len(w.Name)+len(w.Method)+len(w.URL)+len(w.Header)+len(w.Body))
	for _, text := range []string{w.Name, w.Method, w.URL} {
		to = outbox.AppendText(to, text)
	}
	to = outbox.AppendText(to, w.Header)
	to = outbox.AppendText(to, w.Body)
	for _, n := range []int64{int64(w.Timeout), int64(w.Retry.Attempts), int64(w.Retry.Backoff), int64(w.Retry.MaxBackoff)} {
		to = binary.AppendUvarint(to, uint64(max(n, 0)))
	}
	if w.Sign == nil && w.TLS == (clienttls.Files{}) {
		return to
	}
	sign := cmp.Or(w.Sign, &Signature{}) // without a secret, nothing is signed
	for _, text := range []string{sign.Secret, sign.Header, sign.Scheme} {
		to = outbox.AppendText(to, text)
	}
	if w.TLS != (clienttls.Files{}) {
		for _, text := range []string{w.TLS.CA, w.TLS.Cert, w.TLS.Key, strconv.FormatBool(w.TLS.Insecure)} {
			to = outbox.AppendText(to, text)
		}
	}
	return to
}

// readWebhook decodes a webhook that appendWebhook wrote. It does not retain from.
func readWebhook(from []byte) (*Webhook, error) {
	f := outbox.NewFields(bytes.Clone(from))
	w := &Webhook{Name: string(f.Text()), Method: string(f.Text()), URL: string(f.Text())}
	w.Header, w.Body = f.Text(), f.Text()
	w.Timeout = time.Duration(f.Uvarint())
	w.Retry = Retry{Attempts: int(f.Uvarint() & 0xFFFF), Backoff: time.Duration(f.Uvarint()), MaxBackoff: time.Duration(f.Uvarint())}
	if f.More() {
		w.Sign = &Signature{Secret: string(f.Text()), Header: string(f.Text()), Scheme: string(f.Text())}
		if w.Sign.Secret == "" {
			w.Sign = nil
		}
	}
	if f.More() {
		w.TLS = clienttls.Files{CA: string(f.Text()), Cert: string(f.Text()), Key: string(f.Text()), Insecure: string(f.Text()) == "true"}
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return w, nil
}
