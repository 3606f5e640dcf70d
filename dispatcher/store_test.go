package dispatcher

import (
	"encoding/hex"
	"reflect"
	"testing"
	"time"
)

func TestWebhook_IsReadBackFromTheStore(t *testing.T) {
	w := &Webhook{
		Name: "name", Method: "POST", URL: "http://a.test/", Header: []byte("A: b\r\n"), Body: []byte("{}"),
		Timeout: time.Second, Retry: Retry{Attempts: 3, Backoff: time.Second, MaxBackoff: time.Minute},
	}
	for range 2 {
		if got, err := readWebhook(appendWebhook(nil, w)); err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("%+v, %v, want %+v", got, err, w)
		}
		w.Sign = &Signature{Secret: "s", Header: "X-S", Scheme: Stripe}
	}
	old, err := hex.DecodeString("036f6c6404504f53540e687474703a2f2f612e746573742f00027b7d8094ebdc03028094ebdc0380b09dc2df01017303582d5306737472697065")
	if err != nil {
		t.Fatal(err)
	}
	if w, err := readWebhook(old); err != nil || w.Name != "old" || w.URL != "http://a.test/" || w.Sign.Scheme != "stripe" {
		t.Errorf("a webhook as an older version stored it: %+v, %v", w, err)
	}
}

func FuzzReadWebhook(f *testing.F) {
	f.Add(appendWebhook(nil, &Webhook{Name: "name", Sign: &Signature{Scheme: HMACSHA256}}))
	f.Fuzz(func(t *testing.T, from []byte) {
		w, err := readWebhook(from)
		if err != nil {
			return
		}
		if again, err := readWebhook(appendWebhook(nil, w)); err != nil || again.Name != w.Name {
			t.Errorf("stored again: %+v, %v, want %+v", again, err, w)
		}
	})
}
